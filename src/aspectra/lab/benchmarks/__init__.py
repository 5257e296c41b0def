"""Loaders of benchmarks."""
