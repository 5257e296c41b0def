"""Figures of what experiments recorded, each as SVG, PNG and the CSV behind it (extra ``plot``)."""
