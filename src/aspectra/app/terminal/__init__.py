"""Declared options, text and progress on a terminal: what every part of the application uses."""
