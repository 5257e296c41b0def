"""Attributes that the words of a paper decide."""

__all__: list[str] = []
