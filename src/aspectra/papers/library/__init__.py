"""The library's directory: database, generations, locks, links."""
