"""Significance tests, intervals and the distributions they need."""
