"""Study files: parts, tables, the pages made of them, and the tables of papers."""
