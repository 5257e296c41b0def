"""Index generations on disk: their folders, and the checksums of their files."""
