"""Attributes that a paper's record decides."""

__all__: list[str] = []
