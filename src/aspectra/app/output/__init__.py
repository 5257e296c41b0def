"""What commands print: rankings, tables, JSON documents."""
