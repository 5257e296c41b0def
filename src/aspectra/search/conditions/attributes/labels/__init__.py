"""Attributes that a lens grades: what sort of text it is."""
