"""The common parts of the page, HTTP and MCP: questions, answers, handles, and the queue of requests."""
