"""Evidence of a ranking: quotes, passages, reasons."""
