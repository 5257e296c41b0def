"""Loaders of benchmarks, one file each."""
