"""The lab: runs, measures, benchmarks and experiments."""
