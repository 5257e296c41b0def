"""Reading a reply takes steps in proportion to its length, whatever it is."""

from __future__ import annotations

import pytest

from aspectra.search.rerank import repair

LABELS = [str(number) for number in range(1, 21)]
LONG = {
    "a chain": lambda n: "[1] > [2] > " * (n // 12),
    "bare numbers": lambda n: "1, 2, " * (n // 6),
    "different numbers": lambda n: " ".join(str(number) for number in range(n // 6)),
    "one long list": lambda n: f'{{"order": [{"1, " * (n // 3)}1]}}',
    "many lists behind a long one": lambda n: (
        f"[{', '.join(str(number) for number in range(n // 12))}] " + "[1, 2] " * (n // 14)
    ),
    "letters": lambda n: "A > B > " * (n // 8),
}


@pytest.fixture
def steps(monkeypatch):
    """How many elements were put into sets, the part that once grew with the square of the length."""
    put = [0]

    class Counting(set):
        def __init__(self, elements=()):
            listed = list(elements)
            put[0] += len(listed)
            super().__init__(listed)

        def add(self, element):
            put[0] += 1
            super().add(element)

    monkeypatch.setattr(repair, "set", Counting, raising=False)
    return put


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_twice_the_reply_is_twice_the_work(steps, text):
    counts = []
    for length in (20_000, 40_000):
        steps[0] = 0
        for labels in (LABELS, list("ABCD")):
            repair.read_labels(text(length), labels)
        counts.append(steps[0])
    assert counts[0] > 0
    assert counts[1] <= 2.1 * counts[0] + 100
    assert counts[1] <= 4 * 40_000
