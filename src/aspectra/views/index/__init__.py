"""An opened generation and its views."""
