"""What the page, HTTP and MCP share: one question, one answer, its handles, and who waits for it."""
