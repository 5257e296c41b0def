"""Runs and judgements as values, and the files they come in."""
