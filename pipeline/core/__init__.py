"""The models, their training, mixtures and evaluation: arrays and numbers in, arrays and numbers out."""
