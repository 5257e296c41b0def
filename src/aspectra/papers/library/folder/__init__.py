"""The folder of a library: who may write to it, and what may lie in it."""
