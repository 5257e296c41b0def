"""PDFs made by hand for tests: a few objects, one font, no library."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

Line = str | tuple[float, str]


def raw_pdf(objects: Sequence[bytes], info: int = 0) -> bytes:
    """A file out of numbered objects, the first being the catalogue; ``info`` is an object number or 0."""
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        out += b"%010d 00000 n \n" % offset
    trailer = b"/Size %d /Root 1 0 R" % (len(objects) + 1)
    if info:
        trailer += b" /Info %d 0 R" % info
    return bytes(out + b"trailer\n<< " + trailer + b" >>\nstartxref\n%d\n%%%%EOF\n" % start)


def _text(value: str) -> bytes:
    raw = value.encode("cp1252")
    return raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _page(lines: Sequence[Line]) -> bytes:
    parts, y = [b"BT"], 780.0
    for line in lines:
        size, text = line if isinstance(line, tuple) else (10.0, line)
        y -= 1.3 * max(size, 4)
        parts.append(b"/F1 %g Tf 1 0 0 1 60 %g Tm (%s) Tj" % (size, y, _text(text)))
    return b"\n".join([*parts, b"ET"])


def _stream(body: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n" % (len(body), extra) + body + b"\nendstream"


def make_pdf(pages: Sequence[Sequence[Line]], info: Mapping[str, str] | None = None) -> bytes:
    """Pages of lines; a line may be (font size, text), else it is set in 10 points."""
    objects = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]
    kids = []
    for lines in pages:
        objects.append(_stream(_page(lines)))
        content = len(objects)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 820] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % content
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    if not info:
        return raw_pdf(objects)
    objects.append(b"<< %s >>" % b" ".join(b"/%s (%s)" % (k.encode(), _text(v)) for k, v in info.items()))
    return raw_pdf(objects, info=len(objects))


def flate_bomb(layers: int = 3, size: int = 64 << 20) -> bytes:
    """A page whose content is ``size`` blanks, compressed again and again."""
    squeeze = zlib.compressobj(9)
    body = b"".join(squeeze.compress(b" " * (1 << 20)) for _ in range(size >> 20)) + squeeze.flush()
    for _ in range(layers - 1):
        body = zlib.compress(body, 9)
    filters = b"/Filter [%s]" % (b"/FlateDecode " * layers)
    return raw_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
            _stream(body, filters),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 820] /Contents 3 0 R /Resources << >> >>",
        ]
    )


FONTS = {
    "roman": b"Times-Roman",
    "bold": b"Times-Bold",
    "italic": b"Times-Italic",
    "bold_italic": b"Times-BoldItalic",
    "sans": b"Helvetica",
    "sans_bold": b"Helvetica-Bold",
    "mono": b"Courier",
}

Placed = tuple[float, float, float, str, str]
"""(x, y from the top, size, name of a font, text)."""


def place_pdf(
    pages: Sequence[Sequence[Placed]], info: Mapping[str, str] | None = None, turned: str = ""
) -> bytes:
    """Pages of 612 x 792 points with every line at its own place; ``turned`` runs up the first margin."""
    names = list(FONTS)
    objects = [b"", b""]
    for font in FONTS.values():
        objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" % font)
    used = b" ".join(b"/F%d %d 0 R" % (n, n + 3) for n in range(len(names)))
    kids = []
    for number, lines in enumerate(pages):
        parts = [b"BT"]
        for x, y, size, font, text in lines:
            parts.append(
                b"/F%d %g Tf 1 0 0 1 %g %g Tm (%s) Tj" % (names.index(font), size, x, 792 - y, _text(text))
            )
        if turned and number == 0:
            parts.append(b"/F0 20 Tf 0 1 -1 0 30 240 Tm (%s) Tj" % _text(turned))
        objects.append(_stream(b"\n".join([*parts, b"ET"])))
        content = len(objects)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << %s >> >> >>" % (content, used)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    if not info:
        return raw_pdf(objects)
    objects.append(b"<< %s >>" % b" ".join(b"/%s (%s)" % (k.encode(), _text(v)) for k, v in info.items()))
    return raw_pdf(objects, info=len(objects))
