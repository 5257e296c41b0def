"""The weights of the default recipe, all in one place.

They were chosen on development data only (docs/results/obedience.md says which, and what they cost and gain)
and depend on nothing but the views there are and the fields that a query gives. Weights multiply scores in
deviations from the mean of a fixed sample of papers, see :mod:`aspectra.search.fusion`.
"""

from __future__ import annotations

from aspectra.views.view import Matching

__all__ = [
    "ASPECT_MATCHINGS",
    "ASPECT_WEIGHT",
    "COMPLIANCE_WEIGHT",
    "CONTRAST_WEIGHT",
    "DIFFERENT_WEIGHT",
    "LEXICAL_WEIGHT",
    "UNLENSED_WEIGHT",
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

# The hybrid's probes beside those of the lenses that a query asks for: what a lens saw comes first, and the
# paper's own words decide between papers of which it saw much the same. Set by hand, not tuned.
UNLENSED_WEIGHT = 0.5

# What wholly meeting one wish is worth, as a share of the best paper's lead over the field.
COMPLIANCE_WEIGHT = 0.6
