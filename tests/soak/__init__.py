"""Faults by the thousand, counted: `make soak`."""
