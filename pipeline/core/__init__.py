"""What decides a number: from text to ids, from ids to models, from models to log-probabilities.

DVC and checkpoints hash what lies here; what makes arrays lies nowhere else. Arrays and settings go in, arrays and
numbers come out. Nothing here imports the rest of the package, Hydra, DVC, MLflow, tqdm or logging;
nothing words a message (common/errors.py); no path is used but one that is given.
"""
