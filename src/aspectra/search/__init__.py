"""Search: queries, plans, rankings and their evidence."""
