"""Training: the configuration, the one loop, checkpoints, runs and records, trained models."""
