"""Networks: base.py, a file for each family, and what is done with a network's features and weights."""
