"""Any order of changes, kills and searches against a dictionary, with words alone and with vectors."""

from __future__ import annotations

from hypothesis import settings

from aspectra.testing.library_machine import LibraryMachine
from aspectra.views.build.segments import Segments
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder
from long import LONG


class VectorMachine(LibraryMachine):
    settings = IndexSettings(encoders=("fake",), chunks=(), lenses=())
    load = staticmethod(lambda _: FakeEncoder())


class SegmentMachine(LibraryMachine):
    settings = IndexSettings(encoders=("fake",), chunks=(), lenses=("length",))
    load = staticmethod(lambda _: FakeEncoder())
    lenses = ("language",)
    segments = Segments(least=1, share=9.0, number=4)


# Each step writes or searches a library: a few long walks find more than many short ones.
TestWords = LibraryMachine.TestCase
TestWords.settings = settings(max_examples=12 if LONG else 4, stateful_step_count=20, deadline=None)
TestVectors = VectorMachine.TestCase
TestVectors.settings = settings(max_examples=4, stateful_step_count=15, deadline=None)
TestSegments = SegmentMachine.TestCase
TestSegments.settings = settings(max_examples=12 if LONG else 4, stateful_step_count=25, deadline=None)
