"""Text as views read it: tokens, chunks."""
