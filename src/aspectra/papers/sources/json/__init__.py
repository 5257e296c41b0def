"""Sources that read JSON records."""
