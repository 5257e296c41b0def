"""The version, and the words that start this program again, where every room may read them."""

__version__ = "0.1.0"
# After Python's own path. Without -P, code in the current folder, which may be a stranger's, would run first;
# with -I the user's own PYTHONPATH and packages, and the plugins in them, would be missing.
OURSELVES = ("-P", "-m", "aspectra")
