"""Zotero: reading its API, following its changes, and sending picks, tags and notes back."""
