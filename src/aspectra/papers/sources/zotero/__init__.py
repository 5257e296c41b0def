"""A Zotero library: its items as papers, its notes and annotations as text, its database."""
