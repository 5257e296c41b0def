"""Surfaces beside the command line: the page, HTTP, MCP and notebooks, and what served ones share."""
