"""The named datasets, one family a module; each module lists its own in `SOURCES`."""
