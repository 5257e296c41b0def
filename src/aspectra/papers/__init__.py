"""Papers: what they are, where they come from, where they are kept."""
