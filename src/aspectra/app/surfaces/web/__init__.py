"""The page: HTML on the server, forms and links; htmx only makes it quicker."""
