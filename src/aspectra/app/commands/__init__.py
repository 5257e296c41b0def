"""The commands, one module a group."""
