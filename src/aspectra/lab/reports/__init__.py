"""Outcomes as tables, comparisons, published results."""
