"""Reranking: a judge answers questions about papers, a sorter decides which to ask, repair keeps the set."""
