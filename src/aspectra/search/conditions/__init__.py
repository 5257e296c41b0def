"""Conditions: what papers should be like, and how they are graded."""
