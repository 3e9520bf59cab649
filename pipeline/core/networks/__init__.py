"""What all families of networks share, and the registry that finds them."""
