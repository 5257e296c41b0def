"""The command line as a process of its own: exit codes, streams, locks, signals, and the demo library."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aspectra.papers.library.generations.folders import checksum
from aspectra.papers.library.store import Store
from aspectra.papers.paper import field_text
from made_once import copy_of
from warm_python import warm_python

BIB = """@article{dense, title={Dense retrieval of papers}, year=2020, author={Lovelace, Ada},
  abstract={Search engines match words. We train encoders for dense retrieval.}}
@article{graph, title={Graph pretraining for molecules}, year=2022,
  abstract={Molecules are graphs. Pretraining helps.}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def environ(place):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ASPECTRA_") and k != "COLUMNS"}
    homes = {f"XDG_{name}_HOME": str(place / name.lower()) for name in ("DATA", "CONFIG", "STATE")}
    return {**kept, **homes, "PYTHONIOENCODING": "utf-8"}


@pytest.fixture(scope="module")
def aspectra(place, environ):
    def call(*arguments, **options):
        command = [warm_python(), "-m", "aspectra", *map(str, arguments)]
        options = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": 120} | options
        done = subprocess.run(command, cwd=place, env=environ, check=False, **options)
        assert "Traceback" not in (done.stderr or "")
        return done

    return call


@pytest.fixture(scope="module")
def library(place, aspectra):
    (place / "lib.bib").write_text(BIB)
    for command in (["init"], ["add", "lib.bib"], ["index", "--no-encoder"]):
        done = aspectra(*command)
        assert done.returncode == 0, done.stderr
    return place / "data" / "aspectra" / "library"


@pytest.fixture(scope="module")
def demo(place, demo_folder):
    return copy_of(demo_folder, place / "demo")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        ([], 2),
        (["search", "dense retrieval"], 0),
        (["search", "qqqq"], 0),
        (["search", "qqqq", "--fail-empty"], 3),
        (["search", "retrieval", "--limit", "-1"], 2),
        (["search", "retrieval", "--recipe", "dense"], 6),
        (["search", ""], 2),
        (["similar", "nobody"], 1),
        (["similar", "dense"], 0),
        (["show", "nobody"], 1),
        (["nonsense"], 2),
        (["status", "--nonsense"], 2),
        (["status", "--library", "nowhere"], 2),
        (["add", "nothing.bib"], 1),
        (["add", "lib.bib", "--as", "nonsense"], 2),
        (["remove", "dense"], 2),
        (["doctor"], 0),
    ],
)
def test_exit_codes(library, aspectra, arguments, code):
    done = aspectra(*arguments, stdin=subprocess.DEVNULL)
    assert done.returncode == code, done.stderr
    if code not in (0, 3) and arguments:
        assert done.stdout in ("", "Added nothing (1 skipped).\n")
        assert 1 <= len(done.stderr.strip().splitlines()) <= 3


def test_results_and_messages_go_different_ways(library, aspectra):
    done = aspectra("search", "dense retrieval", "--json")
    assert json.loads(done.stdout)["hits"][0]["id"] == "dense"
    assert done.stderr == ""
    assert "\x1b" not in aspectra("search", "dense retrieval").stdout


def test_strict(place, library, aspectra):
    (place / "half.jsonl").write_text('{"id": "ok", "title": "Fine paper"}\nnot json\n')
    assert aspectra("add", "half.jsonl", "--strict").returncode == 4
    assert aspectra("add", "half.jsonl").returncode == 0
    done = aspectra("search", "dense", "--strict")
    assert done.returncode == 4
    assert "added since the last index" in done.stderr
    assert aspectra("index").returncode == 0


HOLDER = """
import sys
from aspectra.papers.library.store import Store
with Store(sys.argv[1]).writing("index"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_busy_library_names_its_holder(library, aspectra):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(library)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "held\n"
        done = aspectra("index")
        assert done.returncode == 1
        assert f"process {holder.pid}" in done.stderr
        assert "`index`" in done.stderr
        assert aspectra("search", "dense").returncode == 0
    finally:
        holder.stdin.close()
        holder.wait(timeout=30)
        holder.stdout.close()


@pytest.mark.skipif(os.name == "nt", reason="no such pipes")
def test_an_index_is_made_beside_other_work(tmp_path, aspectra):
    papers = [{"_id": f"p{n}", "title": f"Owls of place {n}", "text": "They hunt."} for n in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in papers), "utf-8")
    words = ("--library", str(tmp_path / "lib"))
    aspectra("init", *words)
    aspectra("add", str(tmp_path / "a.jsonl"), *words)
    done = aspectra("index", "--beside", *words)
    assert done.returncode == 0, done.stderr
    assert "3 papers can be searched" in done.stdout
    assert "Owls of place" in aspectra("search", "owls", *words).stdout
    assert aspectra("index", "--beside", "--rebuild", *words).returncode == 2


def test_a_closed_pipe_is_silent(library, aspectra):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = aspectra("export", "--all", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="nothing here is full")
def test_output_that_cannot_be_written_undoes_nothing(library, aspectra, place):
    (place / "later.bib").write_text("@article{later, title={Dense owls}, year=2021}")

    def on_a_full_disk(*words):
        with open("/dev/full", "w") as full:
            done = aspectra(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1
        assert "the output cannot be written" in done.stderr
        assert "is kept" in done.stderr

    on_a_full_disk("tag", "dense", "+owl")
    assert "owl" in aspectra("list", "--json").stdout
    aspectra("search", "dense", "--recipe", "bm25")
    aspectra("save", "dense ones")
    aspectra("add", "later.bib")
    aspectra("index", "--no-encoder")
    on_a_full_disk("news")
    on_a_full_disk("news", "--json")
    assert "1 new paper" in aspectra("news").stdout  # it was not shown before
    assert "nothing new" in aspectra("news").stdout
    for words in (("remove", "later", "--yes"), ("saved", "--delete", "dense ones"), ("index",)):
        aspectra(*words)


@pytest.mark.skipif(os.name == "nt", reason="no such descriptors")
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_stream_that_is_closed_is_done_without(library, aspectra, closed):
    done = aspectra("list", preexec_fn=lambda: os.close(closed), stdin=None)
    assert done.returncode == 0, done.stderr


SLOW = """
import atexit, signal, sys
from aspectra.app import main, session
# A shell that runs the tests in the background hands down that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
def slow(self=None):
    import time
    print("waiting", flush=True)
    time.sleep(60)
def interrupted(arguments):
    raise KeyboardInterrupt
%s
sys.argv[1:] = ["index"]
sys.exit(main.main())
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize(
    ("waits", "code", "said"),
    [
        ("session.Session.open_library = slow", 130, "interrupted"),
        ("main._run = interrupted; main._say = lambda *_, **__: slow()", -signal.SIGINT, ""),
        ("main._run = interrupted; atexit.register(slow)", -signal.SIGINT, "interrupted"),
        ("main._run = lambda _: 0; atexit.register(slow)", -signal.SIGINT, ""),
    ],
)
def test_interruption(environ, waits, code, said):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW % waits],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert said in err
    assert "Traceback" not in err


EARLY = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
class Callback:
    def __del__(self):
        raise KeyboardInterrupt
class Interrupting:
    def find_spec(self, name, *rest):
        if name == "%s":
            %s
sys.meta_path.insert(0, Interrupting())
from aspectra.__main__ import main
sys.argv[1:] = ["list"]
sys.exit(main())
"""


@pytest.mark.parametrize(
    "how", ["raise KeyboardInterrupt", "Callback(); [time.sleep(0.01) for _ in range(6000)]"]
)
@pytest.mark.parametrize("module", ["aspectra.app.main", "typer"])
def test_an_interrupt_while_modules_are_imported_is_one_as_any_other(environ, module, how):
    early = [sys.executable, "-c", EARLY % (module, how)]
    done = subprocess.run(early, env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 130
    assert done.stderr.startswith("aspectra: interrupted")
    assert "Traceback" not in done.stderr


def test_output_that_is_not_utf8(library, aspectra, environ):
    narrow = {**environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "aspectra", "search", "dense retrieval", "--explain"]
    done = subprocess.run(command, env=narrow, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Dense retrieval of papers" in done.stdout


def test_nothing_heavy_is_imported_to_help(environ):
    code = "import sys; from aspectra.app.main import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"numpy", "bm25s", "openvino", "lxml", "pypdfium2", "bibtexparser", "rich", "tomlkit"}


def test_search_loads_no_reader(library, environ):
    code = "import sys; from aspectra.app.main import main; main(['search', 'dense']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"lxml", "pypdfium2", "bibtexparser", "yaml", "pylatexenc", "torch", "pandas"}


def test_a_search_imports_its_own_command_and_no_parser_of_types(library, environ):
    code = "import sys; from aspectra.app.main import main; main(['search', 'dense']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    others = "adding indexing export bench lens configuring doctor keeping measuring about managing".split()
    assert not loaded & {f"aspectra.app.commands.{name}" for name in others}
    assert not loaded & {"pydantic", "pydantic_core", "httpx", "tomlkit", "matplotlib", "multiprocessing"}
    assert not loaded & {"aspectra.app.ingest.files", "aspectra.views.build.run", "aspectra.lab.measures"}


def test_the_demo_answers_with_proof(demo, aspectra):
    done = aspectra("search", "reranking with large language models", "--library", demo, "--json", "-n", 5)
    whole = json.loads(done.stdout)
    assert done.returncode == 0
    assert len(whole["hits"]) == 5
    with Store(demo) as library:
        for hit in whole["hits"]:
            paper = library.get(hit["id"])
            assert hit["evidence"]
            for quote in hit["evidence"]:
                assert field_text(paper, quote["field"])[quote["start"] : quote["end"]] == quote["quote"]
    seed = whole["hits"][0]["id"]
    done = aspectra("similar", seed, "--library", demo, "--jsonl")
    assert seed not in [json.loads(line)["id"] for line in done.stdout.splitlines()]
    status = json.loads(aspectra("status", "--library", demo, "--json").stdout)
    assert status["papers"] >= 80
    assert status["index"]["views"]["abstract@minilm"]["truncated"] == 0
    done = aspectra("doctor", "--verify", "--library", demo)
    assert done.returncode == 0, done.stdout
    assert "matches the index" in done.stdout
    assert "no host would be contacted" in done.stdout


def test_another_encoder_is_refused(demo, aspectra, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(demo, copy)
    manifest = next(copy.glob("generations/*/manifest.json"))
    facts = json.loads(manifest.read_text())
    for view in facts["views"].values():
        if "fingerprint" in view:
            view["fingerprint"] = "0" * 32
    manifest.write_text(json.dumps(facts))
    pointer = copy / "generations" / "CURRENT"
    pointer.write_text(f"{manifest.parent.name} {checksum(manifest.read_bytes())}\n")
    done = aspectra("search", "reranking", "--library", copy)
    assert done.returncode == 6
    assert "fingerprint" in done.stderr
    assert "next: aspectra index" in done.stderr
    assert aspectra("doctor", "--library", copy).returncode == 6


def test_init_writes_nothing_but_the_library(place, aspectra):
    before = {p.name for p in place.iterdir()}
    assert aspectra("init", "--library", "fresh").returncode == 0
    assert {p.name for p in place.iterdir()} - before == {"fresh"}
    assert Path(place / "fresh" / "library.db").is_file()
