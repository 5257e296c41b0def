"""From paths on a command line to papers in a library."""
