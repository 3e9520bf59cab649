"""From arrays of log-probabilities to tables and figures."""
