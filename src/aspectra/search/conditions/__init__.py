"""Conditions: what papers should be like, how they are graded, filters."""
