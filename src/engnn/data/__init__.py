"""Datasets: named ones, generated ones and the user's own, as one small typed value."""
