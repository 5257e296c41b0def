"""Built-in attributes of conditions, one module each."""
