"""From raw files to words."""
