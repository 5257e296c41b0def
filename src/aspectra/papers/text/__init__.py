"""Text of papers: sentences, LaTeX, structure, citation marks, reference lists."""
