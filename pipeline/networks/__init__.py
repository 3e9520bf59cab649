"""Families of networks: one file each, chosen by name."""
