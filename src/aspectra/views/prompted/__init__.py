"""Lenses that ask a language model: one pass over the library, then views and attributes."""
