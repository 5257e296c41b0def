"""What every reader refuses, whatever a file claims: the limits that no setting changes.

They are far above what papers have, and low enough that a file made to harm costs less than 1 GB of memory.
What depends on the collection (compressed sizes, PDF pages, lengths of texts) is in
:class:`~aspectra.papers.sources.protocol.ReadOptions`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one record and of one file.

    Attributes:
        line_bytes: longest line, and longest JSON record; a book's full text has 5 MB.
        text_bytes: largest file that is one paper as a whole (Markdown, plain text).
        values: most values in one JSON record, and most elements and attributes in one XML record. Each costs
            up to 250 bytes, so this bounds memory where lengths do not: ``{},`` needs 24 bytes a byte.
        fields: most fields of one tagged or BibTeX record; real ones have up to a few hundred.
        entry_chars: longest tagged or BibTeX record.
        expanded_chars: most characters that the abbreviations and parents of one BibTeX file may add.
        front_chars: longest YAML front matter.
        remarks: remarks of one file that are kept one by one; the others are counted.
        skipped: records skipped one after another before the rest of the file is given up.
    """

    line_bytes: int = 32 << 20
    text_bytes: int = 8 << 20
    values: int = 1_000_000
    fields: int = 10_000
    entry_chars: int = 4 << 20
    expanded_chars: int = 32 << 20
    front_chars: int = 65_536
    remarks: int = 10_000
    skipped: int = 100_000


LIMITS = Limits()
