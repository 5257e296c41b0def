"""Storage of a generation: arrays, columns, units."""
