"""Attributes that the words of a paper decide."""
