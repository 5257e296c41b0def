"""The library: its contents, index and saved searches, files to add; and the page of each paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.ingest.library_facts import remarks
from aspectra.app.output.papers import LINKS, RESOLVERS, listed_rows, sentence_rows
from aspectra.app.surfaces.service.access import COOKIE, NoToken
from aspectra.app.surfaces.service.question import Question
from aspectra.app.surfaces.web.viewing import (
    WantedPage,
    address,
    file_of,
    given_of,
    one_of,
    read_form,
    words_of,
)
from aspectra.app.terminal.screen import count
from aspectra.base.errors import AspectraError, NoSuchPaper, UsageError
from aspectra.search.planning.aspects import ASPECT_ROLES, corrected_roles
from aspectra.search.planning.index_views import IndexSeeds
from aspectra.views.view import ROLE_GROUPS, ROLES

if TYPE_CHECKING:
    from aspectra.app.ingest.saved import SavedSearch
    from aspectra.app.library import Library
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.service.jobs import Job
    from aspectra.app.surfaces.web.viewing import Pages
    from aspectra.papers.paper import Paper
    from aspectra.views.terms.view import Offer


# Jobs in the page: how far each is, what came of it, and what to do next.

_KINDS = {"add": "Adding papers", "index": "Indexing", "bench": "Benchmark", "lens": "Running a lens"}
_MOST_LINES = 100


def job_pages(router: APIRouter, pages: Pages) -> None:
    """``/jobs`` and the page of each.

    Args:
        router: that gets them.
        pages: the jobs and the templates.
    """
    jobs = pages.jobs

    @router.get("/jobs")
    async def every(request: Request) -> Response:
        """All jobs, newest first."""
        return pages.render(request, "jobs.html", jobs=jobs.all(), kinds=_KINDS)

    @router.get("/jobs/{name}")
    async def one(request: Request, name: str) -> Response:
        """One job; while it runs, the page comes again every second."""
        job = jobs.get(name)
        words = _words(job)
        return pages.render(request, "job.html", job=job, title=_KINDS.get(job.kind, job.kind), **words)

    @router.post("/jobs/{name}/stop")
    async def stop(request: Request, name: str) -> Response:
        """Stop it; what it finished is kept."""
        await read_form(request)
        return pages.back(f"/jobs/{(await jobs.stop(name)).id}")


def _words(job: Job) -> dict[str, Any]:
    """The result of a job: sentences, files of which something is to be said, and what comes next."""
    found = job.result
    kept = {one["file"]: PurePath(one["file"]).name for one in found.get("files", ())}
    error = {name: _named(value, kept) for name, value in job.error.items()}
    if job.kind == "add" and "files" in found:
        read = count(found["added"] + found["updated"] + found["unchanged"], "record")
        lines = [
            f"{read} read: {found['added']:,} added, {found['updated']:,} updated, "
            f"{found['unchanged']:,} unchanged, {found['skipped']:,} skipped.",
            f"{found['with_abstract']:,} with abstract, {found['with_full_text']:,} with full text.",
        ]
        if found["merged"]:
            lines.append(f"{count(len(found['merged']), 'record')} of works that were there: versions.")
        if found["to_complete"]:
            lines.append(f"{count(found['to_complete'], 'record')} with an identifier and nothing else yet.")
        files = [
            (kept[one["file"]], _named(one.get("error") or one.get("passed_over") or _counted(one), kept))
            for one in found["files"]
        ]
        after = "index" if found["added"] or found["updated"] else ""
        return {"lines": lines, "files": files[:_MOST_LINES], "after": after, "error": error}
    lines = [str(one) for one in found.get("lines", [])][:_MOST_LINES]
    return {"lines": lines, "files": [], "after": "ask" if job.kind == "index" else "", "error": error}


def _named(text: Any, kept: Mapping[str, str]) -> str:
    """A message with the names of files in place of where they are kept."""
    out = str(text or "")
    for path, name in kept.items():
        out = out.replace(path, name)
    return out


def _counted(one: dict[str, Any]) -> str:
    names = ("added", "updated", "unchanged", "skipped")
    said = ", ".join(f"{one[name]:,} {name}" for name in names if one[name])
    return f"{said or 'nothing'} ({one['source']})"


# Signing in with the token of a service that other computers can reach.

_LONGEST = 1000


def signing_in(router: APIRouter, pages: Pages) -> None:
    """``/token``: a form that takes the token, and a cookie that brings it from then on.

    Args:
        router: that gets them.
        pages: the service and who may use it.
    """

    @router.get("/token")
    async def ask(request: Request) -> Response:
        """The form."""
        return pages.render(request, "token.html", error=None)

    @router.post("/token")
    async def sign_in(request: Request) -> Response:
        """Keep the right token in a cookie that no script reads; 401 for a wrong one."""
        form = await read_form(request)
        given = one_of(form, "token", most=_LONGEST)
        if not pages.access.admits(given):
            error = NoToken("this is not the token", hint="ASPECTRA_TOKEN, where the service was started")
            return pages.render(request, "token.html", status=error.http_status, error=error)
        answer = pages.back("/")
        # Behind a proxy with a certificate, the browser names the scheme in the form's origin.
        schemes = (request.url.scheme, request.headers.get("x-forwarded-proto"))
        secure = "https" in schemes or request.headers.get("origin", "").startswith("https:")
        answer.set_cookie(COOKIE, quote(given), httponly=True, samesite="strict", secure=secure, path="/")
        return answer


MOST_FILES = 200
_ON_A_PAGE = 50  # remarks
_LISTED = 20  # papers on a page
_MOST_REMARKS = 200  # pages of them
_MOST_SAVED = 20  # that are run for what is new
_MOST_GROUPS = 100
_USUAL = {"order": "added"}
_ORDERS = {"added": "newest first", "year": "by year", "title": "by title", "decided": "by last decision"}


def library_pages(router: APIRouter, pages: Pages) -> None:
    """``/library`` and its parts, ``/jobs`` and ``/token``.

    Args:
        router: that gets them.
        pages: the service, its jobs and its templates.
    """
    job_pages(router, pages)
    signing_in(router, pages)
    library, jobs = pages.service.library, pages.jobs

    @router.get("/library")
    async def overview(request: Request) -> Response:
        """The counts of the library, and its papers, page by page."""
        given = given_of(request)
        wanted = _wanted(given)

        def work() -> dict[str, Any]:
            found = library.marks.papers(**wanted)
            return {
                "facts": library.status(),
                "found": found,
                "listed": listed_rows(library, found.ids),
                "tags": library.marks.read.tag_counts(),
                "saved": [(one, _said(library, one)["link"]) for one in library.saved.all()],
            }

        values = await pages.work(request, work)
        filters = {name: wanted[name] for name in ("decision", "years", "order")}
        filters = {"tag": (wanted["tags"] or ("",))[0], **filters}
        return pages.render(
            request,
            "library.html",
            **values,
            wanted=filters,
            kept=[(name, value) for name, value in filters.items() if value != _USUAL.get(name, "")],
            orders=_ORDERS,
            running=[job for job in jobs.all() if not job.ended],
            on_a_page=_LISTED,
            most_files=MOST_FILES,
            upload=pages.access.upload,
        )

    @router.get("/library/index")
    async def index(request: Request) -> Response:
        """Views, encoders and what waits."""
        facts = await pages.work(request, library.status)
        return pages.render(request, "library_index.html", facts=facts)

    @router.post("/library/index")
    async def build(request: Request) -> Response:
        """Make what was added searchable."""
        await read_form(request)
        return pages.back(f"/jobs/{jobs.start('index', ['index']).id}")

    @router.post("/library/add")
    async def add(request: Request) -> Response:
        """Add the papers of the files that a form brings."""
        form = await read_form(request, files=MOST_FILES)
        files = [one for one in form.getlist("files") if isinstance(one, UploadFile) and one.filename]
        if not files:
            raise UsageError("no file was chosen", hint="choose files, or drop them on the field")

        def keep() -> list[Path]:
            return [jobs.keep(file.filename or "", file.file.read()) for file in files]

        kept = await pages.work(request, keep)
        paths = list(dict.fromkeys(map(str, kept)))
        return pages.back(f"/jobs/{jobs.start('add', ['add', '--json', '--', *paths]).id}")

    @router.get("/library/skipped")
    async def skipped(request: Request, page: int = 1) -> Response:
        """Records that were skipped or noted while adding, and why."""
        if not 1 <= page <= _MOST_REMARKS:
            raise UsageError(f"there is no page {page}", why=f"the last is page {_MOST_REMARKS}")

        def work() -> list[dict[str, Any]]:
            return remarks(library.store, page * _ON_A_PAGE + 1)[(page - 1) * _ON_A_PAGE :]

        rows = await pages.work(request, work)
        more = len(rows) > _ON_A_PAGE and page < _MOST_REMARKS
        return pages.render(request, "library_skipped.html", rows=rows[:_ON_A_PAGE], page=page, more=more)

    @router.get("/library/flow")
    async def flow(request: Request) -> Response:
        """The numbers of a review's flow diagram."""
        found = await pages.work(request, library.works.flow)
        return pages.render(request, "library_flow.html", boxes=found.boxes())

    @router.get("/library/flow.csv")
    async def flow_file(request: Request) -> Response:
        """The same as CSV."""
        found = await pages.work(request, library.works.flow)
        return file_of(found.to_csv(), "flow.csv")

    @router.get("/library/duplicates")
    async def duplicates(request: Request) -> Response:
        """Records that are one work."""

        def work() -> dict[str, Any]:
            found = library.works.duplicates()
            groups = found.groups[:_MOST_GROUPS]
            ids = [one for group in groups for one in group.ids]
            held = {row["id"]: row for row in listed_rows(library, ids)}
            return {"found": found, "groups": groups, "held": held}

        return pages.render(request, "library_duplicates.html", **await pages.work(request, work))

    @router.get("/library/saved")
    async def saved(request: Request) -> Response:
        """Saved searches, and what is new in each since it was run last."""

        def work() -> list[dict[str, Any]]:
            return [
                {"search": one, **_said(library, one)}
                | (_news(pages, library, one) if n < _MOST_SAVED else {})
                for n, one in enumerate(library.saved.all())
            ]

        rows = await pages.work(request, work)
        last = library.marks.read.undoable
        undoable = last if last is not None and last.verb == "save" else None
        return pages.render(request, "library_saved.html", rows=rows, most=_MOST_SAVED, undoable=undoable)

    @router.post("/library/saved")
    async def keep_saved(request: Request) -> Response:
        """Save a search, delete one, or mark its new hits as seen."""
        form = await read_form(request)
        save, delete, seen = (one_of(form, name) for name in ("save", "delete", "seen"))

        def work() -> None:
            if "save" in form:
                given = {name: [str(one) for one in form.getlist(name)] for name in form}
                question = Question.from_parameters(given)
                found = pages.service.run(pages.service.plan(question))
                library.saved.save(save, question.asked, tuple(found.ids))
            elif delete:
                library.saved.delete(delete)
            else:
                library.saved.news(seen, pages.service.run)

        await pages.work(request, work)
        return pages.back("/library/saved")


def _wanted(given: dict[str, list[str]]) -> dict[str, Any]:
    """The arguments of a listing that an address names.

    Raises:
        UsageError: the page is not a number.
    """
    last = {name: values[-1].strip() for name, values in given.items() if values and values[-1].strip()}
    page = last.get("page", "1")
    if not (page.isascii() and page.isdigit() and len(page) < 10):
        raise UsageError(f"{page[:40]!r} is no page", hint="page=1")
    return {
        "tags": (last["tag"],) if "tag" in last else (),
        "decision": last.get("decision", ""),
        "years": last.get("years", ""),
        "order": last.get("order", "added"),
        "page": int(page),
        "limit": _LISTED,
    }


def _said(library: Library, search: SavedSearch) -> dict[str, str]:
    """A saved search in ``words``, and the ``link`` to it; "" where the page has no fields for it."""
    question = _question(search)
    if question is None:
        return {"words": search.words, "link": ""}
    return {"words": words_of(library, question), "link": address(question)}


def _question(search: SavedSearch) -> Question | None:
    if "plan" in search.asked:
        return None
    given = {"text": search.asked["text"], "seeds": search.asked["seeds"], **search.asked["given"]}
    texts = {
        name: [
            "true" if one is True else str(one)
            for one in (value if isinstance(value, list | tuple) else [value])
        ]
        for name, value in given.items()
        if value not in (None, "", False)
    }
    try:
        return Question.from_parameters(texts)
    except UsageError:
        return None


def _news(pages: Pages, library: Library, search: SavedSearch) -> dict[str, Any]:
    """The hits that are new in a saved search, or why it cannot be run."""
    try:
        found = library.saved.news(search.name, pages.service.run, keep=False)
    except AspectraError as error:
        return {"error": error}
    return {"news": listed_rows(library, found.ranking.ids)}


# A paper, opened: its record, links and marks; its sentences by role; what of it should be searched for.

_LINKED = 25  # papers that are listed of each kind of link
_TERMS = 12  # that are offered of an aspect
_SHOWN_TEXT = 4000  # characters of a section; its own page would be too long for a browser
# Role -> the aspect that it belongs to.
_ASPECT_OF = {role: name for name, roles in ASPECT_ROLES.items() for role in roles}

_SITES = ("doi", "arxiv", "acl")  # whose pages are linked


def paper_pages(router: APIRouter, pages: Pages) -> None:
    """``/paper/ID``, and ``/paper?id=ID`` for ids that no path can hold.

    Args:
        router: that gets them.
        pages: the service and its templates.
    """
    service = pages.service

    @router.get("/paper")
    async def by_name(request: Request) -> Response:
        return await show(request, "".join(request.query_params.getlist("id")[-1:]))

    @router.get("/paper/{paper:path}")
    async def show(request: Request, paper: str) -> Response:
        """A paper, and a form to search for papers that are like parts of it."""
        wanted = WantedPage.of({**given_of(request), "id": []})

        def work() -> Response:
            if not paper.strip():
                raise NoSuchPaper("no paper is named", hint="open one from a list of papers")
            opened = _opened(service, paper)
            roles = corrected_roles(wanted.question.roles)
            for row in opened["sentences"]:
                row["role"] = roles.get(row["number"], row["role"])
                row["kind"] = f"aspect-{_ASPECT_OF.get(row['role'], 'other')}"
            return pages.render(
                request,
                "paper.html",
                opened=opened,
                paper=opened["paper"],
                chosen=wanted.question,
                shown_text=_SHOWN_TEXT,
                roles=[role for group in ROLE_GROUPS for role in group if role in ROLES],
                aspects=[*ASPECT_ROLES],
            )

        return await pages.work(request, work)


def _opened(service: Service, named: str) -> dict[str, Any]:
    """A paper as its page shows it.

    Returns:
        paper: whole.
        sentences: rows of :func:`~aspectra.app.output.papers.sentence_rows`.
        terms: aspect -> the terms that the paper names in it.
        linked: (what the papers are to it, how many there are, rows of those that are listed).
        marks: what was said about it.
        links: (name, address) of its record elsewhere.
        indexed: whether searches know it.

    Raises:
        NoSuchPaper: it is not in the library.
    """
    library = service.library
    paper = library.show(service.resolve(named))
    terms, indexed = _terms(service, paper)
    return {
        "paper": paper,
        "sentences": sentence_rows(library, paper),
        "terms": terms,
        "linked": _linked(library, paper),
        "marks": library.marks.of(paper.id),
        "links": _elsewhere(paper),
        "indexed": indexed,
    }


def _terms(service: Service, paper: Paper) -> tuple[dict[str, list[str]], bool]:
    """The terms of each aspect, and whether the index knows the paper."""
    library = service.library
    if library.store.generations.current() is None:
        return {}, False
    service.generation()
    index = library.searcher.index
    if paper.id not in index.positions:
        return {}, False
    offers: Mapping[str, Offer] = IndexSeeds(index).offers(paper.id)
    return {name: [one.text for one in offer.phrases[:_TERMS]] for name, offer in offers.items()}, True


def _linked(library: Library, paper: Paper) -> list[tuple[str, int, list[dict[str, Any]]]]:
    """Papers that are linked to it, by the kind of the link."""
    links = library.links(paper.id)
    return [
        (said.capitalize(), len(links[name]), listed_rows(library, links[name][:_LINKED]))
        for name, said in LINKS.items()
        if links[name]
    ]


def _elsewhere(paper: Paper) -> list[tuple[str, str]]:
    """Links to the paper on other sites, from its record; only addresses that a browser opens as pages."""
    held = paper.identifiers
    out = [
        (f"{name} {held[name]}", RESOLVERS[name].format(quote(held[name]))) for name in _SITES if name in held
    ]
    if paper.url.casefold().startswith(("http://", "https://")):
        out.append(("web page", paper.url))
    return out
