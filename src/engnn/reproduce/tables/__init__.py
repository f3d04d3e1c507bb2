"""One table a file, found by its name; each has its `TABLE`, and what the paper prints in the paper's own words."""
