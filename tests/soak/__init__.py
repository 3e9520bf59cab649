"""Faults by the hundred, counted: `make soak`."""
