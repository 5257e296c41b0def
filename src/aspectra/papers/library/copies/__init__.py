"""Copies of library.db: backups, and what is made of a damaged one."""
