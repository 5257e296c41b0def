"""Attributes that a lens grades: what sort of text it is."""

__all__: list[str] = []
