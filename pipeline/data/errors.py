"""The one exception that is meant for the user's eyes."""


class InputError(ValueError):
    """Configuration, file or data that cannot be used.

    Its text is one sentence or two: what is wrong, where, and what to do next. A stage prints it as a single
    line and ends with a non-zero exit code; any other exception is a fault of ours and keeps its traceback.
    """
