"""Members of the family, one file each."""
