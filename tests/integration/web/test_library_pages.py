"""The library in the page: lists, files to add, jobs, what was skipped, saved searches, the token."""

from __future__ import annotations

import csv
import html
import io
import re
import time
from pathlib import Path

import pytest

from made_once import copy_of
from page_server import serving

ANY = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
BIB = """@article{{{key}, title = {{{title}}}, author = {{Lovelace, Ada}}, year = {{2024}},
  abstract = {{We describe {title}. It is measured with forty owls in a barn.}}}}
"""


@pytest.fixture(scope="module")
def written(demo_folder, tmp_path_factory):
    """A copy of the demo library that these tests write to."""
    path = tmp_path_factory.mktemp("written") / "demo.lib"
    copy_of(demo_folder, path)
    with serving(path) as running:
        yield running


def _ended(served, job):
    """A job when it has ended."""
    while (found := served.get(f"/v1/jobs/{job}").json())["state"] in ("waiting", "running"):
        time.sleep(0.05)
    return found


def test_the_page_says_what_the_library_holds(served):
    facts, text = served.library.status(), html.unescape(served.get("/library").text)
    plain = re.sub(r"<[^>]*>", " ", text)
    for name in ("papers", "with abstract", "with full text", "citations"):
        assert re.search(rf"{name}\s+{facts[name.replace(' ', '_')]:,}\s", plain)
    assert f"The index is up to date: {facts['papers']} papers." in text
    views = served.get("/library/index").text
    for name, view in facts["index"]["views"].items():
        assert name in views
        assert view["fingerprint"][:12] in views


def test_papers_are_listed_by_tag_decision_year_order_and_page(served, browse):
    marks = served.library.marks
    ids = served.library.search("language models", limit=3).ids
    marks.tag(*ids, add=["to & read"])
    marks.decide("include", ids[0], reason="fits")
    try:
        page = browse(served, "/library", scripts=False).page
        page.select_option("#f-tag", "to & read")
        page.select_option("#f-order", "year")
        page.click("text=Show")
        wanted = marks.papers(tags=("to & read",), order="year").ids
        titles = [served.library.show(one).title for one in wanted]
        page.wait_for_load_state()
        assert page.locator(".papers .title").all_inner_texts() == titles
        assert page.inner_text(".decided") == "Included: fits"
        page.select_option("#f-decision", "exclude")
        page.click("text=Show")
        assert page.inner_text(".notice strong") == "No paper is like that"
        page.goto("/library?years=2019-2021&order=title&page=1")
        found = marks.papers(years="2019-2021", order="title", limit=20)
        assert page.locator(".papers .title").count() == len(found.ids)
        assert page.inner_text("#papers") == f"{found.found} papers found"
        page.goto("/library?order=title")
        page.click("nav.pager >> text=2")
        assert "order=title" in page.url
        listed = marks.papers(order="title", limit=20, page=2).ids
        assert page.locator(".papers .title").first.inner_text() == served.library.show(listed[0]).title
    finally:
        marks.undo()
        marks.undo()


@ANY
def test_files_are_added_indexed_and_found(written, browse, tmp_path, scripts):
    words = "echolocation of barn owls" if scripts else "feathers of tawny eagles"
    key = f"owl-{scripts}".lower()
    file = tmp_path / "my owls.bib"
    file.write_text(BIB.format(key=key, title=words) + "@article{broken, title = {never closed", "utf-8")
    (tmp_path / "owl.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500))
    page = browse(written, "/library", scripts=scripts).page
    page.set_input_files("#files", [file, tmp_path / "owl.png"])
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_url("**/jobs/*")
    page.wait_for_selector(".notice", timeout=60_000)
    told = page.inner_text("#job")
    assert "my_owls.bib" in told
    assert "1 added" in told
    (row,) = [one for one in page.locator("tbody tr").all_inner_texts() if "owl.png" in one]
    assert "the format of owl.png is not recognised" in row
    (origin,) = written.library.marks.of(key)["origins"]
    assert Path(origin["file"]).name == "my_owls.bib"
    assert Path(origin["file"]).read_bytes() == file.read_bytes()
    page.goto("/library")
    assert "1 paper waits" in page.inner_text("main")
    page.click("text=Make them searchable")
    page.wait_for_selector("text=Ask a question", timeout=120_000)
    assert page.inner_text(".notice strong") == "Done"
    page.click("text=Ask a question")
    page.fill("#f-text", words)
    page.click("text=Search >> nth=0")
    page.wait_for_selector(".hits")
    assert page.locator(".hits .title").first.inner_text().strip() == words
    page.goto("/library/skipped")
    assert "my_owls.bib" in page.inner_text("table")
    assert "skipped" in page.inner_text("table")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../../../tmp/evil.bib", "evil.bib"),
        ("C:\\evil\\x.bib", "x.bib"),
        ("-rf.bib", "rf.bib"),
        (".hidden.bib", "hidden.bib"),
        ("a\x00b.bib", "a_00b.bib"),
        ("<script>alert(1)</script>.bib", "script_.bib"),
    ],
)
def test_a_name_leads_to_no_other_place(written, name, kept):
    body = BIB.format(key="again", title=f"a title for {kept}").encode()
    answer = written.post("/library/add", files={"files": (name, body)})
    assert answer.status_code == 303
    job = answer.headers["location"].rpartition("/")[2]
    (file,) = _ended(written, job)["result"]["files"]
    uploads = written.path.parent / "uploads"
    assert Path(file["file"]).parent.parent == uploads
    assert Path(file["file"]).name == kept
    assert "<script>" not in written.get(f"/jobs/{job}").text
    assert {one.parent for one in written.path.parent.rglob("*.bib")} <= {*uploads.iterdir()}


@pytest.mark.parametrize(("others", "kind"), [([], "error"), (["y.bib"], "warning")])
def test_a_file_that_cannot_be_read_is_a_failed_job_with_the_reason(written, others, kind):
    good = BIB.format(key="other", title="A title of the other file").encode()
    sent = [("x.bib", b"\x00\xff" * 2000), *((name, good) for name in others)]
    answer = written.post("/library/add", files=[("files", one) for one in sent])
    job = answer.headers["location"].rpartition("/")[2]
    assert _ended(written, job)["state"] == "failed"
    text = html.unescape(written.get(f"/jobs/{job}").text)
    assert f'class="notice {kind}"' in text
    assert "Traceback" not in text
    assert "x.bib" in text


@pytest.mark.parametrize(
    ("data", "files", "said"),
    [
        ({}, None, "no file was chosen"),
        ({"files": "a text"}, None, "no file was chosen"),
        ({}, [("files", ("", b""))], "no file was chosen"),
        ({}, [("files", (f"{n}.bib", b"@")) for n in range(201)], "the form cannot be read"),
        ({str(n): "x" for n in range(1001)}, [("files", ("x.bib", b"@"))], "the form cannot be read"),
    ],
)
def test_forms_without_files_or_with_too_many_start_nothing(written, data, files, said):
    before = len(written.get("/v1/jobs").json()["jobs"])
    answer = written.post("/library/add", data, files)
    assert answer.status_code == 422
    assert said in html.unescape(answer.text)
    assert len(written.get("/v1/jobs").json()["jobs"]) == before


def test_a_field_that_was_left_empty_is_no_file(written):
    body = b'--x\r\ncontent-disposition: form-data; name="files"; filename=""\r\n\r\n\r\n--x--\r\n'
    sent = {"origin": written.address, "content-type": "multipart/form-data; boundary=x"}
    answer = written.client.post("/library/add", content=body, headers=sent)
    assert answer.status_code == 422
    assert "no file was chosen" in answer.text


@ANY
def test_a_job_is_watched_and_stopped(written, browse, scripts):
    many = "".join(BIB.format(key=f"stop{n}", title=f"paper number {n}") for n in range(2000))
    started = written.post("/library/add", files={"files": (f"{scripts}.bib", many.encode())})
    waits = written.post("/library/index").headers["location"]
    page = browse(written, waits, scripts=scripts).page
    assert "Waiting for its turn" in page.inner_text("#job-state")
    assert page.locator("progress").count() == 1
    page.click("#job-stop")
    page.wait_for_selector(".notice.warning")
    assert page.inner_text(".notice strong") == "Stopped"
    assert page.locator("#poll").count() == 0
    page.goto("/jobs")
    assert page.locator("tbody tr").first.locator("td").nth(1).inner_text() == "stopped"
    page.goto(started.headers["location"])
    if stop := page.query_selector("#job-stop"):
        stop.click()
    page.wait_for_selector(".notice", timeout=60_000)


def test_a_page_of_a_job_comes_again_without_scripts_only_while_it_runs(written):
    answer = written.post("/library/add", files={"files": ("r.bib", BIB.format(key="r", title="r").encode())})
    first = written.get(answer.headers["location"]).text
    _ended(written, answer.headers["location"].rpartition("/")[2])
    last = written.get(answer.headers["location"]).text
    refresh = '<noscript><meta http-equiv="refresh" content="2"></noscript>'
    assert refresh in first
    assert 'hx-trigger="every 1s"' in first
    assert refresh not in last
    assert "hx-trigger" not in last


@pytest.mark.parametrize("path", ["/jobs/none", "/library/no-such", "/jobs/../jobs/x"])
def test_what_is_not_there_is_not_found(served, path):
    assert served.get(path).status_code == 404
    assert served.post("/jobs/none/stop").status_code == 404


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"page": "0"}, "the page is 0"),
        ({"page": "x"}, "is no page"),
        ({"page": "999"}, "there is no page 999"),
        ({"years": "soon"}, "no year"),
        ({"decision": "perhaps"}, ""),
        ({"order": "colour"}, "colour"),
        ({"tag": "no such tag"}, "no paper has the tag"),
    ],
)
def test_filters_that_mean_nothing_say_so(served, given, said):
    answer = served.get("/library", **given)
    if given != {"decision": "perhaps"}:
        assert answer.status_code == 422
    assert said in html.unescape(answer.text)


def test_saved_searches_tell_what_is_new_until_it_is_seen(written, tmp_path):
    library = written.library
    asked = {"text": "zygomatic bones", "seeds": [], "given": {"recipe": "bm25", "literal": True}}
    library.saved.save("bones & <b>more</b>", asked)
    library.saved.save("broken", {"text": "", "seeds": ["no such paper"], "given": {}})
    try:
        text = html.unescape(written.get("/library/saved").text)
        assert "bones & <b>more</b>" not in written.get("/library/saved").text
        assert "Nothing new." in text
        assert "no such paper" in text
        (tmp_path / "b.bib").write_text(BIB.format(key="zyg", title="zygomatic bones of owls"), "utf-8")
        library.add(tmp_path / "b.bib")
        library.index()
        written.get("/library/saved")  # seen only once somebody says so
        text = html.unescape(written.get("/library/saved").text)
        assert "1 new" in text
        assert "zygomatic bones of owls" in text
        (link,) = re.findall(r'href="(/\?text=zygomatic[^"]*)"', text)
        assert written.get(link).status_code == 200
        assert written.post("/library/saved", {"seen": "bones & <b>more</b>"}).status_code == 303
        assert "1 new" not in written.get("/library/saved").text
        assert written.post("/library/saved", {"seen": "no such search"}).status_code == 422
    finally:
        for one in library.saved.all():
            library.saved.delete(one.name)


@ANY
def test_a_search_is_saved_and_deleted_where_it_is_seen(written, browse, scripts):
    saved = written.library.saved
    path = "/?text=owls+since+3y&recipe=bm25&since=3y&literal=true"
    page = browse(written, path, scripts=scripts).page
    page.get_by_label("Save this search as").fill("owls & more")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/library/saved")
    again = written.post("/library/saved", {"text": "mice", "save": " owls  & more"})
    assert (again.status_code, "already" in again.text) == (422, True)
    (found,) = saved
    assert (found.name, found.asked["text"], found.asked["given"]["since"]) == (
        "owls & more",
        "owls since 3y",
        "3y",  # as it was written: three years ago, whenever it is asked
    )
    assert page.get_by_text("Nothing new.").count() == 1
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("None is saved").wait_for()
    assert saved.all() == []
    page.get_by_role("button", name="Undo: deleted owls & more").click()
    page.get_by_role("link", name="owls & more").wait_for()
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("None is saved").wait_for()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"text": "owls", "save": " "}, "1 to 100 characters"),
        ({"text": "owls", "save": "o" * 101}, "1 to 100 characters"),
        ({"save": "nothing asked"}, "empty"),
        ({"delete": "no such search"}, "no saved search"),
        ({"text": "owls"}, "no saved search"),
    ],
)
def test_what_cannot_be_saved_or_deleted_says_why(written, form, said):
    answer = written.post("/library/saved", form)
    assert answer.status_code == 422
    assert said in html.unescape(answer.text)
    assert written.library.saved.all() == []


def test_the_flow_is_a_table_and_a_file(served):
    flow = served.library.works.flow()
    text = html.unescape(served.get("/library/flow").text)
    rows = re.findall(r'<th scope="row">([^<]*)</th><td class="number"><strong>([\d,]+)', text)
    assert rows == [(label, f"{number:,}") for _, label, number, _ in flow.boxes()]
    answer = served.get("/library/flow.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="aspectra-flow.csv"'
    assert list(csv.reader(io.StringIO(answer.text))) == list(csv.reader(io.StringIO(flow.to_csv())))


def test_records_of_one_work_are_listed_with_the_reason(served):
    assert "No duplicates" in served.get("/library/duplicates").text
    ids = served.library.store.ids()[:2]
    served.library.works.merge(*ids)
    try:
        text = html.unescape(served.get("/library/duplicates").text)
        assert "one work" in text
        for one in ids:
            assert served.library.show(one).title in text
    finally:
        served.library.marks.undo()


def test_an_empty_library_says_what_comes_next(served_empty, browse):
    page = browse(served_empty, "/library", scripts=False).page
    assert "The library is empty" in page.inner_text("main")
    assert "There is nothing to index yet." in page.inner_text("main")
    for path in ("/triage", "/trail", "/library/index", "/library/flow", "/library/skipped", "/jobs"):
        assert served_empty.get(path).status_code == 200
    assert "There is nothing to screen" in served_empty.get("/triage").text


TOKEN = "a-long-secret-of-the-service"


@pytest.fixture(scope="module")
def guarded(demo_folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("guarded") / "demo.lib"
    copy_of(demo_folder, path)
    with serving(path, token=TOKEN) as running:
        yield running


@ANY
def test_the_right_token_opens_the_page(guarded, browse, scripts):
    page = browse(guarded, "/library", scripts=scripts).page
    assert page.url.endswith("/token")
    page.fill("#token", "wrong")
    with page.expect_response("**/token") as got:
        page.click("text=Sign in")
    assert got.value.status == 401
    assert "this is not the token" in page.inner_text(".notice")
    page.fill("#token", TOKEN)
    page.click("text=Sign in")
    page.wait_for_url(guarded.address + "/")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    page.goto("/library")
    assert page.inner_text("h1") == "Library"
