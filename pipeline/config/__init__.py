"""What a configuration may hold: pydantic models of the groups of conf/ and of each stage, without torch.

They name each key, its type, bounds and meaning. Values are chosen in conf/ alone: no key has a default here that could
change a number.
"""
