"""Commands of ``bench`` with a module of their own."""
