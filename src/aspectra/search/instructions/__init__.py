"""From free words to conditions, aspects and the text that is searched."""
