"""Any model of the pipeline on new text: by its name, on a user's text, and as MLflow loads and serves it."""
