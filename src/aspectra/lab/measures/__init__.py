"""Families of measures, one file each."""
