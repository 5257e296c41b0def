"""Lexical views: tokens, BM25 and reverse scoring over words."""
