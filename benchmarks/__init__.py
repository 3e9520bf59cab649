"""Long measurements, run by `make bench`: how fast training and scoring are, and against what."""
