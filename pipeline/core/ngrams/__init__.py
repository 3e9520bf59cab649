"""N-gram models: counts by sorting packed keys, and what smooths them."""
