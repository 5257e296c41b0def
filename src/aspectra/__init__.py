"""Aspectra: literature search that does what it is told, and the lab that proves it."""

__version__ = "0.1.0"
