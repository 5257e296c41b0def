"""``python -m aspectra`` is the command line."""

from __future__ import annotations

import sys

from aspectra.app.main import main

if __name__ == "__main__":
    sys.exit(main())
