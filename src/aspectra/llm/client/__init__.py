"""The client of an OpenAI-compatible endpoint."""
