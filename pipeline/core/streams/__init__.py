"""Networks that read a stream in order and carry a state, and what adapts to the text that they read."""
