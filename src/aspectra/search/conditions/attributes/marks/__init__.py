"""Conditions on what the searcher says about papers."""
