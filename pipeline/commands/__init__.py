"""What a user does with models."""
