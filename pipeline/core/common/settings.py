"""Settings: the keys of a group of conf/ as attributes. pipeline/config declares each, with its type and bounds; no
value is chosen there or here."""

from typing import Any

Settings = Any
