"""Keeping an installation and its libraries: checks, repairs, backups, licences."""
