"""The files between stages, and what every stage needs of them."""
