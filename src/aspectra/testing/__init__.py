"""Tests to inherit for what you add to Aspectra, and libraries that crash on purpose.

A source, an encoder or a view of your own passes what every member passes: inherit the class and give it a
fixture. `LibraryMachine` runs any order of changes, kills and searches against a dictionary of papers, with
your encoder or lens in it; `run_with_fault` stops one step at one operation. Needs the extra ``testing``.
"""

from __future__ import annotations

from aspectra.base.errors import MissingExtra

try:
    import pytest

    pytest.register_assert_rewrite(*(f"aspectra.testing.{name}" for name in ("library_machine", "views")))
    from aspectra.testing.library_machine import LibraryMachine
    from aspectra.testing.simulated_disk import Fault, Outcome, run_with_fault
    from aspectra.testing.views import (
        EncoderConformance,
        SampleConformance,
        SourceConformance,
        ViewConformance,
    )
except ModuleNotFoundError as error:
    if error.name not in ("hypothesis", "pytest"):
        raise
    raise MissingExtra(
        f"aspectra.testing needs {error.name}, which is not installed", hint="pip install 'aspectra[testing]'"
    ) from error

__all__ = [
    "EncoderConformance",
    "Fault",
    "LibraryMachine",
    "Outcome",
    "SampleConformance",
    "SourceConformance",
    "ViewConformance",
    "run_with_fault",
]
