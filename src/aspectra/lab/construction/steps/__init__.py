"""The steps of construction, one per module."""
