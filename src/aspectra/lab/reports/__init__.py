"""Tables, comparisons, published results."""
