"""Output of commands: rankings, tables, JSON documents."""
