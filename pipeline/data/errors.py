"""The exception that is meant for the user's eyes. That of pipeline/core is worded by pipeline/running/messages.py."""


class InputError(ValueError):
    """Configuration, file or data that cannot be used.

    Its text says what is wrong, where, and what to do next, in a line for each fault. A stage prints it and ends with
    a non-zero exit code; any other exception is a fault of ours and keeps its traceback.
    """
