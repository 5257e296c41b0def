"""The weights of the default recipe, all in one place.

They were chosen on development data only (docs/results/aspects.md says which, and what they cost and gain)
and depend on nothing but the views there are and the fields that a query gives. Weights multiply scores in
deviations from the mean of a fixed sample of papers, see :mod:`aspectra.search.fusion`.
"""

from __future__ import annotations

from aspectra.views.view import Matching

__all__ = [
    "ASPECT_CANDIDATES",
    "ASPECT_MATCHINGS",
    "ASPECT_WEIGHT",
    "COMPLIANCE_WEIGHT",
    "CONTRAST_WEIGHT",
    "DIFFERENT_WEIGHT",
    "LEXICAL_WEIGHT",
]

# BM25 beside the abstract vector's 1.0.
LEXICAL_WEIGHT = 0.3

# Likeness in the aspects asked for, shared between them.
ASPECT_WEIGHT = 1.0

# Likeness in the other roles, subtracted: what tells "the same method" from "much the same paper".
CONTRAST_WEIGHT = 0.4

# Likeness in an aspect that is to be different, subtracted, shared between them.
DIFFERENT_WEIGHT = 0.8

# How sentences of a role are compared; each has its share of the weight. MaxSim follows an aspect closer, the
# centroid is steadier where roles are predicted wrongly.
ASPECT_MATCHINGS: tuple[Matching, ...] = ("maxsim", "centroid")

# Papers whose sentences are compared, the best of the other probes, where all would be too many. Among 88,584
# papers 200 to 8,000 gave the same NDCG@20 within a point, so this is about time.
ASPECT_CANDIDATES = 300

# What wholly meeting one wish is worth, as a share of the best paper's lead over the field.
COMPLIANCE_WEIGHT = 0.6
