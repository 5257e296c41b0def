"""HTTP: ``/v1`` for programs; the guards before every request, also before those of the page and of MCP."""
