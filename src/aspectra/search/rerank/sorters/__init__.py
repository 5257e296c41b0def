"""Sorters, one module each."""
