"""The paper's tables, run again: what their cells are, the runs, the records, and the pages made of them."""
