"""Twenty classic attacks by XML: nothing but the file itself is opened, and nothing expands."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.files import LIMITS

SECRET = "the-secret-of-this-computer"
BODY = (
    "<article article-type='x'><front><article-meta><title-group><article-title>T {}</article-title>"
    "</title-group></article-meta></front><body><p>Text {}</p></body></article>"
)
LAUGHS = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
# {pipe}: a named pipe, on which opening would wait; {file}: a file with a secret.
PAYLOADS = {
    "external DTD": '<!DOCTYPE article SYSTEM "{pipe}">',
    "external DTD by URL": '<!DOCTYPE article SYSTEM "file://{pipe}">',
    "public DTD": '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "{pipe}">',
    "DTD in the network": '<!DOCTYPE article SYSTEM "http://127.0.0.1:9/x.dtd">',
    "DTD by ftp": '<!DOCTYPE article SYSTEM "ftp://127.0.0.1:9/x.dtd">',
    "entity of a file": '<!DOCTYPE article [<!ENTITY x SYSTEM "file://{file}">]>',
    "entity of a pipe": '<!DOCTYPE article [<!ENTITY x SYSTEM "{pipe}">]>',
    "entity in the network": '<!DOCTYPE article [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]>',
    "parameter entity": '<!DOCTYPE article [<!ENTITY % p SYSTEM "file://{pipe}"> %p;]>',
    "parameter entity, sent out": '<!DOCTYPE article [<!ENTITY % f SYSTEM "file://{file}"><!ENTITY % e '
    "\"<!ENTITY x SYSTEM 'http://127.0.0.1:9/?%f;'>\"> %e;]>",
    "DTD and subset": '<!DOCTYPE article SYSTEM "{pipe}" [<!ENTITY x "a">]>',
    "billion laughs": f'<!DOCTYPE article [<!ENTITY a "ha">{LAUGHS}<!ENTITY x "&i;">]>',
    "quadratic": '<!DOCTYPE article [<!ENTITY x "' + "y" * 100_000 + '">]>',
    "entity that holds itself": '<!DOCTYPE article [<!ENTITY x "&x;">]>',
    "attribute default": '<!DOCTYPE article [<!ATTLIST article a CDATA "{file}">]>',
    "attribute list from outside": '<!DOCTYPE article SYSTEM "{pipe}" [<!ATTLIST p id ID #IMPLIED>]>',
    "stylesheet": '<?xml-stylesheet href="{pipe}" type="text/xsl"?>',
    "catalogue": '<?oasis-xml-catalog catalog="{pipe}"?>',
    "inclusion": "XI",
    "schema location": "XS",
}


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a reader opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def document(payload: str) -> str:
    if payload == "XI":
        inner = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{pipe}" parse="text"/>'
        return BODY.format("", inner.replace("{pipe}", "{{pipe}}")).replace("{{pipe}}", "{pipe}")
    if payload == "XS":
        where = 'xmlns:s="http://www.w3.org/2001/XMLSchema-instance" s:schemaLocation="a {pipe}"'
        return BODY.format("", "").replace("<article ", f"<article {where} ")
    used = "&x;" if "ENTITY x" in payload else ""
    return payload + BODY.format(used, used)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", sorted(PAYLOADS))
def test_nothing_else_is_opened(tmp_path: Path, name: str, encoding: str) -> None:
    pipe, secret = tmp_path / "pipe", tmp_path / "secret"
    os.mkfifo(pipe)
    secret.write_text(SECRET)
    # Opened for reading and writing, so that a reader would not wait; what it reads is told by what is left.
    held = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(held, b"<!ENTITY x 'taken'>")
    path = tmp_path / "x.xml"
    text = document(PAYLOADS[name]).replace("{pipe}", str(pipe)).replace("{file}", str(secret))
    path.write_text(text, encoding)
    try:
        found = repr(list(read_papers(path, "jats")))
    except BadInput as error:
        found = str(error)
        assert "entities" in found or "well-formed" in found
    assert SECRET not in found
    assert "taken" not in found
    assert os.read(held, 100) == b"<!ENTITY x 'taken'>"
    os.close(held)


def test_real_doctypes_and_repeated_ids_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    text = BODY.format("", '<bold xml:id="a">b</bold><bold xml:id="a">c</bold>')
    path.write_text('<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "archivearticle1.dtd">' + text)
    assert [item.title for item in read_papers(path, "jats") if isinstance(item, Paper)] == ["T"]


def test_one_record_at_a_time_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    from aspectra.papers.sources.xml import elements

    # Together the records have more tags than one of them may have.
    monkeypatch.setattr(elements, "LIMITS", replace(LIMITS, values=40_000))
    path = tmp_path / "x.xml"
    one = BODY.format("", "<x/>" * 1000)
    path.write_text("<articles>" + one * 100 + "</articles>")
    assert sum(isinstance(item, Paper) for item in read_papers(path, "jats")) == 100
    path.write_text("<articles>" + one + BODY.format("", "<x/>" * 60_000) + one + "</articles>")
    items = []
    with pytest.raises(BadInput, match="larger than any paper"):
        items += [items.append(item) for item in read_papers(path, "jats")]
    assert len(items) == 1
