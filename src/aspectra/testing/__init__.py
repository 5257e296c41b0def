"""Tests for what others add to Aspectra: a source, an encoder, a kind of view; and for libraries that crash.

Needs the extra ``testing`` (pytest and hypothesis). `Testing what you add <testing.md>`_ has an example of each.
"""

from __future__ import annotations

from importlib.util import find_spec

from aspectra.base.errors import MissingExtra

if missing := [name for name in ("hypothesis", "pytest") if find_spec(name) is None]:
    raise MissingExtra(
        f"aspectra.testing needs {' and '.join(missing)}", hint="pip install 'aspectra[testing]'"
    )
