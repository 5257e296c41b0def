"""Conditions on what the searcher says about papers."""

__all__: list[str] = []
