"""What runs and records say, as people read it: tables, figures, and one HTML page that needs nothing else."""
