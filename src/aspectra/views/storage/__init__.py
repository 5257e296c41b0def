"""What a generation stores: arrays, columns, units."""
