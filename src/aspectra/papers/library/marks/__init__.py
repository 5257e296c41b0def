"""The searcher's marks on papers (tags, notes, decisions, edits), the origin of records, and undo."""
