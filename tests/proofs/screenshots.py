"""Write a picture of every state of the page, in each of its looks, to a folder.

    python tests/proofs/screenshots.py --to docs/screens [NAME ...]

The demo library is served on loopback; Chromium takes the pictures. To add a state write a line of STATES.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1])]
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="aspectra-screens-")

import httpx

from page_server import FLAGS, Served, chromium_path, make_demo, serving

SEED, JOB = "{seed}", "{job}"
SIMILAR = f"seeds={SEED}&same=method&different=background&since=2018"
# Name of a state -> its address; "!" before it opens the parts that are folded.
STATES = {
    "ask": "/",
    "ask-limits": "/?text=language+models+since+2019&edit=1&same=evaluation+protocol",
    "results": "/?text=dense+retrieval+of+long+documents+since+2019",
    "results-aspects": f"/?{SIMILAR}",
    "results-why": f"!/?{SIMILAR}&limit=3",
    "results-not-applied": "/?text=language+models+not+surveys+about+cats+since+2019",
    "results-weak": "/?text=sourdough+bread+baking+temperature",
    "results-none": "/?text=language+models&since=2100",
    "results-above": "/?text=language+models&above=12",
    "results-decided": "/?text=language+models",
    "unknown-paper": "/?seeds=tourrank",
    "why-not-higher": f"/why?text=rank+with+a+language+model&paper={SEED}",
    "why-not-here": f"/why?text=language+models+until+2018&paper={SEED}",
    "criteria": f"/criteria?{SIMILAR}",
    "map": "/map?text=language+models",
    "map-aspect": f"/map?{SIMILAR}",
    "paper": f"/paper/{SEED}",
    "keys": "/keys",
    "triage": "/triage?text=language+models",
    "triage-aspects": f"/triage?{SIMILAR}&at={SEED}",
    "triage-end": "/triage?text=language+models&pool=3",
    "triage-library": "/triage",
    "trail": "/trail",
    "trail-compare": "/trail/compare?a=1&b=2",
    "trail-repeat": "/trail/1/repeat",
    "trail-clear": "/trail/clear",
    "library": "/library",
    "library-index": "/library/index",
    "library-skipped": "/library/skipped",
    "library-saved": "/library/saved",
    "library-duplicates": "/library/duplicates",
    "library-flow": "/library/flow",
    "jobs": "/jobs",
    "job": f"/jobs/{JOB}",
    "no-such-page": "/no-such-page",
    "token": "/token",
}
EMPTY = {"library-empty": "/library", "ask-empty": "/"}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 1400}},
    "no-scripts": {"viewport": {"width": 1280, "height": 900}, "java_script_enabled": False},
}
# Without scripts most states look the same.
WITHOUT_SCRIPTS = {"ask", "results-aspects", "paper", "triage", "library", "unknown-paper"}


def take(served: Served, states: dict[str, str], folder: Path, browser: Any) -> list[Path]:
    """Take the pictures of a library's states; returns the files."""
    out = []
    for look, options in LOOKS.items():
        context = browser.new_context(base_url=served.address, reduced_motion="reduce", **options)
        page = context.new_page()
        for name, path in states.items():
            if look == "no-scripts" and name not in WITHOUT_SCRIPTS:
                continue
            answer = page.goto(path.removeprefix("!"))
            if answer is None or (answer.status == 404 and not re.search("no-such|unknown", name)):
                print(f"left out: {name} ({path}) is not there")
                continue
            if path.startswith("!") and look != "no-scripts":
                page.evaluate(
                    "document.querySelectorAll('.hits details').forEach(one => { one.open = true; })"
                )
            file = folder / f"{name}-{look}.png"
            file.write_bytes(_smaller(page.screenshot()))
            out.append(file)
        context.close()
    return out


def _smaller(picture: bytes) -> bytes:
    """The picture with few colours: a page has few."""
    from PIL import Image

    made = io.BytesIO()
    held = Image.open(io.BytesIO(picture)).convert("RGB")
    held.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return min(made.getvalue(), picture, key=len)


def _prepared(served: Served) -> tuple[str, str]:
    """Give the library something to show; returns the paper that the states begin with, and a job."""
    library = served.library
    first, second, third = library.search("language models", limit=3).ids
    seed = library.search("rank documents with a language model", limit=1).ids[0]
    library.marks.decide("include", first, under="language models")
    library.marks.decide("exclude", second, reason="no evaluation", under="language models")
    library.marks.decide("maybe", third, under="language models")
    library.marks.tag(first, seed, add=["to read"])
    library.marks.note(seed, "Compare the cost with ours.")
    asked = {"text": "language models", "seeds": [], "given": {}}
    library.saved.save("language models", asked)
    library.works.merge(*library.search("benchmarks", limit=3).ids[1:])
    with httpx.Client(base_url=served.address, headers={"origin": served.address}, timeout=60) as client:
        for text in ("rank documents", "rank documents since 2020"):
            client.get("/", params={"text": text})
        files = {"files": ("owls.bib", b"@article{o, title={Owls hunt at night}}\n@article{p, title={broken")}
        job = client.post("/library/add", files=files).headers["location"].rpartition("/")[2]
        while client.get(f"/v1/jobs/{job}").json()["state"] in ("waiting", "running"):
            pass
    return seed, job


def main() -> None:
    """Take all pictures, or those of some states."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/screens"))
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    folder = given.to.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, sync_playwright() as driver:
        import aspectra

        browser = driver.chromium.launch(executable_path=chromium_path() or None, args=FLAGS)
        os.chdir(work)  # the library's page names its folder
        make_demo(Path("demo.lib"))
        aspectra.create(Path("empty.lib")).close()
        taken = []
        for library, states in (("demo.lib", STATES), ("empty.lib", EMPTY)):
            wanted = {name: path for name, path in states.items() if not given.names or name in given.names}
            if wanted:
                with serving(Path(library)) as served:
                    seed, job = _prepared(served) if library == "demo.lib" else ("", "")
                    ready = {name: one.replace(SEED, seed).replace(JOB, job) for name, one in wanted.items()}
                    taken += take(served, ready, folder, browser)
        browser.close()
    sizes = [file.stat().st_size for file in taken]
    print(f"{len(taken)} pictures, {sum(sizes):,} bytes, the largest {max(sizes, default=0):,}")


if __name__ == "__main__":
    main()
