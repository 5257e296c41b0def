"""The steps of construction, one a module."""
