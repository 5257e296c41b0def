"""Stages, one module each; see :mod:`aspectra.search.stages.protocol`."""
