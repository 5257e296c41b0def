from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper, Remark
from aspectra.papers.sources.detection import detect, read_papers

PROSE = (
    "Owls hunt at night, and they hear a mouse under the snow from far away; nobody knows how they do it. "
    * 2
)
FULL = "".join(f"<h2>{n} Part {n}</h2><p>Part {n}. {PROSE}</p><p>More {n}. {PROSE}</p>" for n in range(1, 4))


def read(folder: Path, text: str | bytes) -> tuple[Paper, list[Remark]]:
    path = folder / "page.html"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert detect(path) == "html"
    items = list(read_papers(path))
    (paper,) = [i for i in items if isinstance(i, Paper)]
    return paper, [i for i in items if isinstance(i, Remark)]


ABSTRACT_PAGE = """<!DOCTYPE html><html lang="en"><head><title>Owls | Site</title>
<meta name="citation_title" content="Owls at night"><meta name="citation_author" content="Owl, Ada">
<meta name="citation_author" content="Barn, Bo"><meta name="citation_date" content="2019/05/01">
<meta name="citation_journal_title" content="Owl Letters"><meta name="citation_doi" content="10.1000/Owl.5">
<meta name="citation_pmid" content="1234567"><meta name="citation_firstpage" content="3">
<meta name="citation_lastpage" content="9"><link rel="canonical" href="https://x.org/owl"></head>
<body><nav>Menu</nav><main><h1>Owls at night</h1><p>Ada Owl</p><h2>Abstract</h2>
<h3>Background</h3><p>We watch.</p><h3>Results:</h3><p>They hunt.</p><h2>Similar articles</h2>
<ul><li>Other, A. Eggs.</li></ul></main><footer>Imprint</footer></body></html>"""


def test_a_page_about_a_paper(tmp_path: Path) -> None:
    paper, remarks = read(tmp_path, ABSTRACT_PAGE)
    assert (paper.title, paper.authors, paper.year) == ("Owls at night", ("Ada Owl", "Bo Barn"), 2019)
    assert paper.abstract == "Background: We watch.\n\nResults: They hunt."
    assert paper.identifiers == {"doi": "10.1000/owl.5", "pmid": "1234567"}
    assert (paper.venue, paper.url, paper.language) == ("Owl Letters", "https://x.org/owl", "en")
    assert (paper.metadata["pages"], paper.sections) == ("3-9", ())
    assert "the site's" in remarks[0].reason


def test_a_full_text(tmp_path: Path) -> None:
    page = (
        '<html><head><meta name="citation_title" content="Owls"><meta name="dc.'
        'creator" content="Ada Owl"></head>'
        f"<body><div>Cookies</div><article><h1>Owls</h1><p>Ada Owl, Owl Labs</p>"
        f"<h2>Abstract</h2><p>We watch.</p>{FULL}"
        "<table><tr><th>a</th><td>1</td></tr></table><h2>References</h2><ol><li>A. Barn. 2001. Eggs of owls. "
        "doi:10.1000/e</li></ol></article></body></html>"
    )
    paper, remarks = read(tmp_path, page)
    assert (paper.abstract, paper.authors) == ("We watch.", ("Ada Owl",))
    assert [s.heading for s in paper.sections] == ["Part 1", "Part 2", "Part 3"]
    assert paper.sections[0].text.count("Owls hunt") == 4
    assert paper.sections[2].text.endswith("a | 1")
    assert [r.identifiers for r in paper.references] == [{"doi": "10.1000/e"}]
    assert paper.metadata["front_matter"] == "Ada Owl, Owl Labs"
    assert not remarks


def test_json_ld(tmp_path: Path) -> None:
    page = (
        '<html><head><script type="application/ld+json">{"@graph": [{"@type": "'
        'WebSite"}, {"@type": "ScholarlyArticle",'
        '"headline": "Owls", "author": [{"@type": "Person", "name": "Ada Owl"}]'
        ', "datePublished": "2020-02-01",'
        '"isPartOf": {"@type": "PublicationIssue", "isPartOf": {"name": "Owl Letters"}}, '
        '"sameAs": "https://doi.org/10.1000/j", "description": "We watch."}]}</script></head>'
        "<body><p>Log in</p></body></html>"
    )
    paper, _ = read(tmp_path, page)
    assert (paper.title, paper.authors, paper.year, paper.venue) == (
        "Owls",
        ("Ada Owl",),
        2020,
        "Owl Letters",
    )
    assert (paper.abstract, paper.identifiers) == ("We watch.", {"doi": "10.1000/j"})


def test_a_paper_without_meta_tags(tmp_path: Path) -> None:
    page = (
        '<html><body><article class="ltx_document"><h1 class="ltx_title">Owls &amp; eggs</h1><div><span '
        'class="ltx_personname">Ada Owl</span></div><div><h6>Abstract</h6><p>We'
        ' count <math alttext="n^2"><mi>n</mi>'
        f"<annotation>n^2</annotation></math> eggs.</p></div>{FULL}</article></body></html>"
    )
    paper, _ = read(tmp_path, page)
    assert (paper.title, paper.authors, paper.abstract) == ("Owls & eggs", ("Ada Owl",), "We count n^2 eggs.")
    assert len(paper.sections) == 3


@pytest.mark.parametrize(
    "page",
    [
        "<html><head><title>Shop</title></head><body><h1>Shop</h1><p>Buy owls.</p></body></html>",
        '<html><head><meta property="og:title" content="News"></head><body><p>News.</p></body></html>',
        "<html></html>",
    ],
)
def test_other_pages_are_refused(tmp_path: Path, page: str) -> None:
    path = tmp_path / "x.html"
    path.write_text(page)
    with pytest.raises(BadInput) as caught:
        list(read_papers(path))
    assert "RIS" in caught.value.hint


def test_encodings(tmp_path: Path) -> None:
    page = ABSTRACT_PAGE.replace("Owls at night", "Käuze")
    stated = page.replace("<head>", '<head><meta charset="iso-8859-2">')
    for content in (
        page.encode(),
        page.encode("utf-16"),
        page.encode("utf-8-sig"),
        stated.encode("iso-8859-2"),
    ):
        assert read(tmp_path, content)[0].title == "Käuze"


def test_empty_elements_of_xhtml_take_no_text(tmp_path: Path) -> None:
    page = ABSTRACT_PAGE.replace(
        "<!DOCTYPE html><html", '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"'
    )
    broken = page.replace("<title>Owls | Site</title>", "<title/><script src='x'/>")
    well_formed = (
        '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//E'
        'N" "x.dtd">\n<html xmlns="http://www.w3.org/'
        '1999/xhtml"><head><title/></head><body><h1>Owls&nbsp;here</h1><h2>Abst'
        "ract</h2><p>We watch.</p></body></html>"
    )
    assert read(tmp_path, broken)[0].abstract.startswith("Background")
    paper, _ = read(tmp_path, well_formed)
    assert (paper.title, paper.abstract) == ("Owls here", "We watch.")


def test_pages_nested_too_deeply_are_refused_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("<html><body>" + "<div>" * 5000 + "text" + "</div>" * 5000 + "<p>more</p></body></html>")
    with pytest.raises(BadInput):
        list(read_papers(path))


def test_hidden_text_and_scripts_are_left_out(tmp_path: Path) -> None:
    page = ABSTRACT_PAGE.replace(
        "We watch.", "We <span style='display: none'>never</span> watch<script>x</script>.<br>Yes."
    )
    assert read(tmp_path, page)[0].abstract.startswith("Background: We watch . Yes.")


@pytest.mark.parametrize("filler", ["a{}='' ", "a='>'/b{} "])
def test_a_tag_of_endless_attributes_is_refused_unparsed(tmp_path: Path, filler: str) -> None:
    path = tmp_path / "x.html"
    path.write_text(
        "<html><body><p " + "".join(filler.format(n) for n in range(60_000)) + ">x</p></body></html>"
    )
    with pytest.raises(BadInput, match="far too many attributes"):
        list(read_papers(path))


def test_long_scripts_and_data_are_no_attributes(tmp_path: Path) -> None:
    image = f'<img src="data:image/png;base64,{"A/b=" * 100_000}" alt="{"a b " * 100_000}">'
    script = "<script>for (i = 0; i < 9; i++) { if (i > 3) f(i); }" + "x = y / 2;\n" * 50_000 + "</script>"
    assert (
        read(tmp_path, ABSTRACT_PAGE.replace("<nav>", image + script + "<nav>"))[0].title == "Owls at night"
    )
