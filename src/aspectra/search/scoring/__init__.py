"""Scores of a plan's papers: probes, fusion, chains."""
