"""The library as tools for programs with a language model: the Model Context Protocol."""
