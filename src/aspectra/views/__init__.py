"""Views: units of papers and the scorers that search them."""
