"""Building an index generation from the library: what is encoded, computed and written."""
