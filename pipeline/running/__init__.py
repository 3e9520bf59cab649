"""What a stage is run by, and never part of a number: Hydra, MLflow, multiruns."""
