"""Whether tests try all of what they try a part of: ``make test-long``."""

from __future__ import annotations

import os

__all__ = ["LONG"]

LONG = bool(os.environ.get("ASPECTRA_LONG"))
