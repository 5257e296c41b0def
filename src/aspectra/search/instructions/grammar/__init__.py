"""Rules that read instructions: tokens, lexicons, recognisers, and the grammar of scopes.

The way of a text: :mod:`tokens` cuts it, :mod:`tagging` names its pieces with the help of the lexicons and of
the recognisers of bounds, names, terms and aspects, :mod:`clauses` tells wishes from the subject, and
:mod:`scope` turns each wish into a relation. No rule knows any collection.
"""

__all__: list[str] = []
