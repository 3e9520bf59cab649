"""What every model's numbers go through: threads, perplexity, the share, mixtures."""
