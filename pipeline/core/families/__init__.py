"""The families of networks, a file each with a class Network; pipeline/core/networks/base.py says what it needs."""
