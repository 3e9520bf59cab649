"""The words of a stream that are no words of the text."""

UNKNOWN = "<unk>"  # id 0: rare words
PARAGRAPH = "<p>"  # after each paragraph
TEXT = "<text>"  # after each text
NUMBER = "<number>"  # a word with a digit, where case and numbers are folded
