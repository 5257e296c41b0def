"""Commands that serve a library: to browsers and programs, and to agents."""
