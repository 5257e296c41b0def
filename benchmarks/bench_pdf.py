"""Compare extractors on PDFs whose parts are known: what is found, lost and glued together.

    python benchmarks/bench_pdf.py FILES GOLD.jsonl [--extractors aspectra pypdf ...] [--markdown]

FILES is a folder of PDFs. GOLD has one JSON object a file: ``file``, ``title``, ``title_alt``, ``authors``,
``year``, ``has_abstract``, ``abstract_first``, ``abstract_last`` (sentences), ``headings`` [{text, printed}],
``page_ends`` [{page, last8, column_ends}] (last words of a page and of its columns), ``references_count``.

Four extractors give plain text, from which ``text.structure.outline`` finds the structure: pypdf, pypdfium2,
pdfminer and pdfplumber. ``aspectra`` is the source ``pdf``, which uses places and fonts. Text is
compared by letters and digits only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import Remark
from aspectra.papers.text.cleaning import clean, mend_hyphens, strip_invisible
from aspectra.papers.text.structure import bare_heading, outline

_RUN = re.compile(r"[^\W\d_]{20,}")
_NUMBER = re.compile(r"(?:Appendix\s+)?(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)*|[IVX]+)[.:]?\s+", re.I)


def by_aspectra(path: Path) -> tuple[Paper, list[str]]:
    items = list(read_papers(path, "pdf"))
    papers = [item for item in items if isinstance(item, Paper)]
    return papers[0] if papers else Paper("none"), [i.reason for i in items if isinstance(i, Remark)]


def from_text(read: Callable[[Path], list[str]]) -> Callable[[Path], tuple[Paper, list[str]]]:
    def extract(path: Path) -> tuple[Paper, list[str]]:
        text = mend_hyphens(strip_invisible(clean("\n".join(read(path))))[0])
        found = outline(text, markdown=False)
        return Paper(
            id="x",
            title=found.title,
            abstract=found.abstract,
            sections=found.sections,
            references=found.references,
            metadata={"front_matter": found.front},
        ), []

    return extract


def pypdf_pages(path: Path) -> list[str]:
    import pypdf

    return [page.extract_text() for page in pypdf.PdfReader(path).pages]


def pdfium_pages(path: Path) -> list[str]:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    return [
        page.get_textpage().get_text_bounded().replace("\r\n", "\n").replace("\x02", "-\n")
        for page in document
    ]


def pdfminer_pages(path: Path) -> list[str]:
    from pdfminer.high_level import extract_text

    return extract_text(path).split("\f")


def pdfplumber_pages(path: Path) -> list[str]:
    import pdfplumber

    with pdfplumber.open(path) as document:
        return [page.extract_text() or "" for page in document.pages]


EXTRACTORS: dict[str, Callable[[Path], tuple[Paper, list[str]]]] = {
    "aspectra": by_aspectra,
    "pypdf": from_text(pypdf_pages),
    "pypdfium2": from_text(pdfium_pages),
    "pdfminer": from_text(pdfminer_pages),
    "pdfplumber": from_text(pdfplumber_pages),
}


@dataclass
class Score:
    """What one extractor made of one file."""

    file: str
    title: bool
    authors: bool
    year: bool
    abstract: bool
    headings: int
    gold_headings: int
    extra: list[str]
    missed: list[str]
    pages_lost: list[int]
    ends_lost: int
    ends: int
    glued: list[str]
    references: int
    seconds: float
    wrong: dict[str, Any]


def squash(text: object) -> str:
    """Letters and digits, without case."""
    return "".join(c for c in str(text).casefold() if c.isalnum())


def whole_text(paper: Paper, *, titles: bool = True) -> str:
    parts = [str(paper.metadata.get("front_matter", "")), paper.abstract]
    for section in paper.sections:
        parts += [section.heading, section.text] if titles else [section.text]
    parts += [entry.raw for entry in paper.references]
    parts += map(str, paper.metadata.get("running_heads", ()))
    return "\n".join([paper.title, *parts])


def score(name: str, path: Path, gold: dict[str, Any], real: set[str]) -> Score:
    start = time.process_time() + children()
    paper, _ = EXTRACTORS[name](path)
    seconds = time.process_time() + children() - start
    titles = {squash(t) for t in (gold["title"], *gold["title_alt"])}
    abstract, first, last = (
        squash(t) for t in (paper.abstract, gold["abstract_first"], gold["abstract_last"])
    )
    found = [squash(section.heading) for section in paper.sections if section.heading]
    found += [squash(bare_heading(section.heading)) for section in paper.sections if section.heading]
    found += ["abstract", "summary"] * bool(paper.abstract) + ["references", "bibliography"] * bool(
        paper.references
    )
    missed, wanted = [], set()
    for heading in gold["headings"]:
        forms = {
            squash(heading["text"]),
            squash(heading["printed"]),
            squash(_NUMBER.sub("", heading["printed"], count=1)),
        }
        wanted |= forms
        if not forms & set(found):
            missed.append(heading["printed"])
    extra = [s.heading for s in paper.sections if s.heading and squash(s.heading) not in wanted]
    text = squash(whole_text(paper))
    lost, ends, ends_lost = [], 0, 0
    missing: list[tuple[int, str]] = []
    for page in gold["page_ends"]:
        probes = [p for p in (page.get("column_ends") or [page["last8"]]) if p]
        bad = [p for p in probes if squash(p) not in text]
        ends += len(probes)
        ends_lost += len(bad)
        missing += [(page["page"], p) for p in bad]
        if probes and len(bad) == len(probes):
            lost.append(page["page"])
    glued = sorted({run for run in _RUN.findall(whole_text(paper)) if run.casefold() not in real})
    wrong: dict[str, Any] = {"ends": missing} if missing else {}
    good = {
        "title": squash(paper.title) in titles,
        "authors": [squash(a) for a in paper.authors] == [squash(a) for a in gold["authors"]],
        "year": paper.year == gold["year"],
        "abstract": abstract.startswith(first) and last in abstract[-len(last) - 8 :],
    }
    for key, right in good.items():
        if not right:
            value = getattr(paper, key)
            wrong[key] = f"{value[:80]} ... {value[-80:]}" if key == "abstract" else value
    return Score(
        path.name, **good, headings=len(gold["headings"]) - len(missed), gold_headings=len(gold["headings"]),
        extra=extra, missed=missed, pages_lost=lost, ends_lost=ends_lost, ends=ends, glued=glued,
        references=len(paper.references), seconds=seconds, wrong=wrong,
    )  # fmt: skip


def children() -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row(name: str, scores: list[Score]) -> list[str]:
    heads, of = sum(s.headings for s in scores), sum(s.gold_headings for s in scores)
    ends_lost = sum(s.ends_lost for s in scores)
    return [
        name,
        *(
            f"{sum(getattr(s, key) for s in scores)}/{len(scores)}"
            for key in ("title", "authors", "year", "abstract")
        ),
        f"{heads}/{of} ({heads / of:.0%})",
        str(sum(len(s.extra) for s in scores)),
        f"{sum(len(s.pages_lost) for s in scores)} ({ends_lost}/{sum(s.ends for s in scores)} ends)",
        str(sum(len(s.glued) for s in scores)),
        f"{sum(s.seconds for s in scores):.1f}",
    ]


HEAD = "extractor title authors year abstract headings other_headings pages_lost glued seconds".split()


def table(rows: Iterable[list[str]], markdown: bool) -> str:
    lines = [[cell.replace("_", " ") for cell in HEAD], *rows]
    if markdown:
        return "\n".join(
            [
                "| " + " | ".join(lines[0]) + " |",
                "|---" * len(HEAD) + "|",
                *("| " + " | ".join(r) + " |" for r in lines[1:]),
            ]
        )
    widths = [max(len(r[i]) for r in lines) for i in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) for r in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--extractors", nargs="+", default=["aspectra"], choices=list(EXTRACTORS))
    parser.add_argument(
        "--half", choices=("first", "second", "both"), default="both", help="every second file"
    )
    parser.add_argument("--words", type=Path, help="a file of real words of 20 letters or more, one a line")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    gold = {r["file"]: r for r in map(json.loads, options.gold.read_text("utf-8").splitlines())}
    real = set(options.words.read_text("utf-8").casefold().split()) if options.words else set()
    paths = sorted(options.files / name for name in gold)
    paths = {"first": paths[::2], "second": paths[1::2], "both": paths}[options.half]
    rows = []
    for name in options.extractors:
        scores = [score(name, path, gold[path.name], real) for path in paths]
        rows.append(row(name, scores))
        for s in [] if options.quiet else scores:
            cited = f"references {s.references}/{gold[s.file]['references_count']}"
            print(f"{name} {s.file}: headings {s.headings}/{s.gold_headings}, {cited}")
            for what in ("wrong", "missed", "extra", "pages_lost", "glued"):
                if value := getattr(s, what):
                    print(f"    {what}: {value}")
    print(table(rows, options.markdown))


if __name__ == "__main__":
    sys.exit(main())
