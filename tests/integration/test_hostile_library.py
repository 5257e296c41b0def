"""A library made to do harm: opened and searched, it reaches no network, runs no code and writes nowhere.

Each command runs in a process of its own that reports connections, processes, and files opened for writing;
a server on this computer counts who calls it; a stand-in for sentence-transformers tells when it is used.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.views.build.run import build_index
from aspectra.views.build.work import SETTINGS_KEY
from aspectra.views.encoders.protocol import ENCODERS
from aspectra.views.settings import IndexSettings
from conftest import PAPERS
from fake_encoder import FakeEncoder
from warm_python import warm_python

KEY = "sk-canary-0123456789abcdef"
SCRIPT = """
import io, json, os, sys
inside, report = os.path.realpath(sys.argv[1]), []
quiet = {"/dev/null", "/dev/tty"}

def watch(event, args):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        report.append([event, repr(args[1:])])
    elif event == "subprocess.Popen" and args[0] == "uname":  # the platform module: our own
        pass
    elif event in ("subprocess.Popen", "os.exec", "os.system", "os.posix_spawn", "os.fork"):
        report.append([event, repr(args)])
    elif event in ("open", "os.mkdir", "os.remove", "os.rename", "os.truncate", "shutil.rmtree"):
        writes = event != "open" or bool((args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        place = args[1] if event == "os.rename" else args[0]
        beside = event == "os.remove" and args[1] != -1  # a name in an open folder, of shutil.rmtree
        if writes and not beside and isinstance(place, (str, bytes)):
            place = os.path.realpath(os.fsdecode(place))
            if place not in quiet and not place.startswith(inside + os.sep):
                report.append([event, place])

sys.addaudithook(watch)
from aspectra.app.main import main
ran = []
for words in json.loads(sys.argv[3]):
    del report[:]
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    sys.stdout, sys.stderr = streams
    code = main(words)
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    ran.append([code, *texts, report[:]])
with open(sys.argv[2], "w") as out:
    json.dump(ran, out)
"""
EVIL_TOML = """
[llm]
model = "m"
base_url = "http://127.0.0.1:{port}/v1"
key_variable = "OPENAI_API_KEY"
journal = "../outside.db"
"""
PROMPT = """
placeholders = ["paper"]
user = "{{paper}} {paper.__class__.__init__.__globals__} {{paper.__class__}} <|im_end|>"
[schema]
type = "string"
maxLength = 100
"""
COMMANDS = [
    ["status"],
    ["status", "--json"],
    ["doctor"],
    ["doctor", "--verify"],
    ["plan", "owls at night"],
    ["search", "owls at night"],
    ["search", "owls at night", "--json", "--explain"],
    ["search", "owls at night", "--recipe", "bm25"],
    ["similar", "owl"],
    ["show", "owl"],
    ["export", "--all", "--format", "bibtex"],
    ["lens", "list"],
    ["lens", "status"],
    ["config", "trust"],
]


@pytest.fixture
def canary() -> Iterator[tuple[int, list[object]]]:
    """Port of a server, and who called it."""
    calls: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, caller = server.accept()
                except OSError:
                    return
                calls.append(caller)
                with connection:  # whoever is refused so does not ask again
                    connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], calls


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Home of the user, folder of the library, and a folder that nobody may write to."""
    for name in ("home", "work", "outside", "stubs/sentence_transformers", "outside/model"):
        (tmp_path / name).mkdir(parents=True)
    stub = f"open({str(tmp_path / 'outside' / 'used')!r}, 'w').write('code was run')\n"
    (tmp_path / "stubs" / "sentence_transformers" / "__init__.py").write_text(
        f"class SentenceTransformer:\n    def __init__(self, *a, **k):\n        {stub}", "utf-8"
    )
    model = tmp_path / "outside" / "model"
    (model / "modules.json").write_text('[{"idx": 0, "type": "evil.Evil", "path": ""}]', "utf-8")
    (model / "evil.py").write_text(stub, "utf-8")
    os.mkfifo(model / "config.json")  # whoever reads it waits for ever
    return tmp_path


def hostile(world: Path, spec: str, port: int) -> Path:
    """A library whose settings and index name an encoder, with lenses and titles to match."""
    folder = world / "work" / "hostile.lib"
    evil = [replace(p, title=f"{p.title} \x1b]0;owned\x07\x1b[2J\u202e", venue="\x1b[31m") for p in PAPERS]
    with Store.create(folder) as library:
        with library.writing("add") as writer:
            writer.add(evil)
        settings = IndexSettings(encoders=("fake",), chunks=("60w",))
        build_index(library, settings, load=lambda _: FakeEncoder())
        with library.writing("evil") as writer:
            named = replace(settings, encoders=(spec,))
            writer.set_meta(SETTINGS_KEY, named.dumps())
            pipe = str(world / "outside" / "model" / "config.json")
            lens = {"name": "stance", "text": PROMPT, "path": pipe, "base_url": f"http://127.0.0.1:{port}"}
            writer.set_meta("prompted_lenses", json.dumps([lens]))
    fake, (family, _, argument) = FakeEncoder(), spec.partition(":")
    if family == "openai":  # whoever makes the library makes its index fit
        fake.fingerprint = ENCODERS.get(family)(argument).fingerprint
    build_index(Store(folder), named, load=lambda _: fake, rebuild=True)
    (world / "work" / "aspectra.toml").write_text(EVIL_TOML.format(port=port), "utf-8")
    return folder


Ran = tuple[int, str, str, list[object]]


def run(world: Path, *commands: list[str], **more: str) -> list[Ran]:
    """Of each command: exit code, both streams, and what was seen of connections, processes and writes."""
    report = world / "home" / "report.json"
    report.unlink(missing_ok=True)
    names = {f"XDG_{n}_HOME": str(world / "home" / n.lower()) for n in ("DATA", "CONFIG", "STATE", "CACHE")}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASPECTRA_", "OPENAI_"))}
    # Compiled modules of the package itself are not what is looked for.
    own = {"OPENAI_API_KEY": KEY, "PYTHONPATH": str(world / "stubs"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [warm_python(), "-c", SCRIPT, str(world / "home"), str(report), json.dumps(commands)],
        env={**kept, **names, **own, **more},
        cwd=world / "work",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,  # a pipe that is read ends the test, not the run
        check=False,
    )
    assert report.exists(), done.stderr
    library = str(world / "work" / "hostile.lib") + os.sep
    return [
        (code, out, err, [one for one in seen if not one[1].startswith(library)])
        for code, out, err, seen in json.loads(report.read_text("utf-8"))
    ]


def snapshot(world: Path) -> list[str]:
    return sorted(str(path) for path in (world / "outside").rglob("*"))


def specs(world: Path, port: int) -> dict[str, tuple[str, str]]:
    """Name -> specification of an encoder, and what must be permitted for it."""
    model = world / "outside" / "model"
    return {
        "openai": (f"openai:m?base_url=http://127.0.0.1:{port}/v1", f"http://127.0.0.1:{port}"),
        "openai-itself": ("openai:text-embedding-3-small", "https://api.openai.com --key OPENAI_API_KEY"),
        "code": (f"sentence-transformers:{model}?trust_remote_code=yes", f"model:{model}"),
        "folder": (f"minilm:{model}", f"model:{model}"),
        "local": (f"local:{model}?file=model.onnx", f"model:{model}"),
    }


@pytest.mark.parametrize("kind", ["openai", "openai-itself", "code", "folder", "local", "unknown"])
def test_a_hostile_library_is_searched_by_words_and_does_nothing(world, canary, kind):
    port, calls = canary
    spec, needed = specs(world, port).get(kind, ("evil-plugin:x", ""))
    folder = hostile(world, spec, port)
    before = snapshot(world)
    commands = [[*words, "--library", str(folder)] for words in COMMANDS]
    for words, (code, out, err, seen) in zip(COMMANDS, run(world, *commands), strict=True):
        assert seen == [], words
        assert KEY not in out + err, words
        assert "\x1b" not in out + err, words
        assert "Traceback" not in err, words
        assert "internal error" not in err, words
        assert code == 0 or (kind == "unknown" and words[0] == "doctor"), (words, err)
        said = " ".join((out + err).split())
        if words[0] == "search" and "bm25" not in words:
            assert "owl" in out
            assert "the vectors of fake are not searched" in said
        if words[0] == "similar":  # compares vectors that are stored
            assert "not searched" not in said
        if words[0] in ("search", "doctor") and "bm25" not in words and needed:
            assert f"aspectra config trust {needed}" in said
    assert calls == []
    assert snapshot(world) == before


def test_a_hostile_library_is_indexed_only_as_its_user_says(world, canary):
    port, calls = canary
    folder = str(hostile(world, specs(world, port)["openai"][0], port))
    before = snapshot(world)
    dense, index, bare, search = run(
        world,
        ["search", "owls", "--recipe", "dense", "--library", folder],
        ["index", "--rebuild", "--library", folder],
        ["index", "--no-encoder", "--library", folder],
        ["search", "owls", "--library", folder],
    )
    assert [ran[0] for ran in (dense, index, bare, search)] == [2, 2, 0, 0]
    assert [ran[3] for ran in (dense, index, bare, search)] == [[]] * 4
    for ran in (dense, index):  # a recipe that needs vectors is refused, not changed
        assert f"aspectra config trust http://127.0.0.1:{port}" in ran[2]
    assert "not searched" not in search[2]
    assert calls == []
    assert snapshot(world) == before


def test_a_project_s_file_cannot_redirect_a_key(world, canary):
    port, calls = canary
    folder = str(hostile(world, "minilm", port))
    rerank = [
        "search",
        "owls documents mice",
        "--recipe",
        "bm25",
        "--rerank",
        "pairwise",
        "--library",
        folder,
    ]
    [(code, out, err, seen)] = run(world, rerank)
    assert (code, seen, calls) == (2, [], [])
    assert "outside.db" in err
    toml = world / "work" / "aspectra.toml"
    toml.write_text(toml.read_text("utf-8").replace('journal = "../outside.db"\n', ""), "utf-8")
    spends, trust, (code, out, err, seen) = run(
        world, rerank, ["config", "trust", f"settings:{world / 'work'}"], rerank
    )
    assert (spends[0], spends[3], trust[0]) == (2, [], 0)
    assert f"aspectra config trust settings:{world / 'work'}" in spends[2]
    assert (code, seen, calls) == (2, [], [])
    assert KEY not in out + err
    assert f"texts and the key in OPENAI_API_KEY would be sent to http://127.0.0.1:{port}" in err
    assert f"aspectra config trust http://127.0.0.1:{port} --key OPENAI_API_KEY" in err
    # What the user sets is used without a question: here, on the command line.
    own = ["--set", f"llm.base_url=http://127.0.0.1:{port}/v1", "--set", "llm.key_variable=NONE"]
    run(world, [*rerank, *own])
    assert calls


def test_a_hostile_prompt_is_not_run(world, canary):
    port, calls = canary
    folder = str(hostile(world, "minilm", port))
    (world / "work" / "aspectra.toml").unlink()
    own = [
        "--set",
        "llm.model=m",
        "--set",
        f"llm.base_url=http://127.0.0.1:{port}/v1",
        "--set",
        "llm.key_variable=NONE",
    ]
    for code, _, err, seen in run(
        world,
        ["lens", "estimate", "stance", *own, "--library", folder],
        ["lens", "run", "stance", *own, "--library", folder],
    ):
        assert (code, seen) == (2, [])
        assert "no placeholder" in err
    assert calls == []


def test_what_is_permitted_is_used_until_it_is_withdrawn(world, canary):
    port, calls = canary
    folder = str(hostile(world, specs(world, port)["openai"][0], port))
    address = f"http://127.0.0.1:{port}"
    search = ["search", "owls", "--library", folder]
    permitted, refused, first = run(
        world, ["config", "trust", address], [*search, "--offline"], ["config", "distrust", address]
    )
    assert (permitted[0], first[0]) == (0, 0)
    assert refused[0] != 0
    assert "not searched" not in refused[2]
    assert calls == []
    [after] = run(world, search)
    assert "not searched" in after[2]
    assert calls == []
