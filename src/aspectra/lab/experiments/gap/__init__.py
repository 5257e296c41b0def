"""Pools of recorded rankings, and the two sides of the gap between retrieval and verification."""
