"""What a searcher says about papers, where their records came from, and how a step is undone."""
