"""Commands for every day: works, saved searches, marks."""
