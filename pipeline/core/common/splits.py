"""The three parts of a stream, in its order (paper, section 4)."""

SPLITS = ("train", "valid", "test")
