"""Attributes that a paper's record decides."""
