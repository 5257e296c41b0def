"""Prompt files, and how the texts of papers are put into prompts."""
