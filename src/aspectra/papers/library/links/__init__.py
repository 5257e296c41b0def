"""Links between papers of a library: versions of one work, and citations."""
