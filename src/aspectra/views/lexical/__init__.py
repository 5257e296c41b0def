"""Lexical views: BM25 and reverse scoring over words."""
