"""Measurements of time and memory, each a module to be run with `python -m`."""
