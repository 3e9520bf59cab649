"""Training a network."""
