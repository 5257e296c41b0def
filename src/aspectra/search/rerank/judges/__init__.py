"""Judges, one module each."""
