"""Pages: what experiments found, for people who were not there."""
