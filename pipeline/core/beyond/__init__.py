"""What the papers try beside their tables: features from counts, short lists, words of no vocabulary."""
