"""Built-in lenses, one module each."""
