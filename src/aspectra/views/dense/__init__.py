"""Dense views: exact search over stored vectors, matching between units, reverse scoring."""
