"""Word classes by exchange."""
