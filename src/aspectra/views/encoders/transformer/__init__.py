"""A transformer in a folder, run without torch."""
