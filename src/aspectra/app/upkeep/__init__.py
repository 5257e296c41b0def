"""Keeping a library: checks, repairs, backups."""
