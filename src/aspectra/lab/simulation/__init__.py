"""Simulated models that answer from relevance judgements."""
