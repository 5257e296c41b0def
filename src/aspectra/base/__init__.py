"""The cellar: errors, configuration, hashing and registries. Imports nothing of ours."""
