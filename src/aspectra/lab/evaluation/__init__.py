"""Scoring runs: inputs by mode, values per topic, means, presets."""
