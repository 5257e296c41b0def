"""Recognisers of words, one by one: tokens, tables, numbers, names, terms, aspects, typing errors."""
