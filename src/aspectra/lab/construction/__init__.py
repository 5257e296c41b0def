"""Building a benchmark from a library's papers: steps, recipes of them, and their results."""
