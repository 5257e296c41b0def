"""Sources that read XML."""
