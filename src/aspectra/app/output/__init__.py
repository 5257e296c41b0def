"""What commands print: rankings, facts, tables, progress."""
