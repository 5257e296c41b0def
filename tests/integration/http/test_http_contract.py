"""The committed description of HTTP: it is the one that is served, what was promised stays, and it holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aspectra.app.surfaces.http.routes import document
from long import LONG
from loopback_server import serving_process
from made_once import copy_of

ROOT = Path(__file__).resolve().parents[3]
COMMITTED = ROOT / "docs" / "openapi.json"
PROMISED = ROOT / "tests" / "golden" / "openapi.json"  # replaced when a new major version may break it
HERE = Path(__file__).parent


def test_the_committed_description_is_served(answering):
    """`aspectra schema openapi -o docs/openapi.json` writes it."""
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(document()))
    assert answering.ask("GET", "/openapi.json").json() == committed


def _breaks(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """What a client that was written for ``old`` would miss, or be refused for, under ``new``."""
    for path, methods in old["paths"].items():
        for method, told in methods.items():
            here = f"{method.upper()} {path}"
            now = new["paths"].get(path, {}).get(method)
            if now is None:
                yield f"{here} is gone"
                continue
            if now["operationId"] != told["operationId"]:
                yield f"{here} has another operationId"
            yield from (
                f"{here} no longer answers {code}" for code in {*told["responses"]} - {*now["responses"]}
            )
            known = {one["name"] for one in told.get("parameters", ())}
            for one in now.get("parameters", ()):
                if one.get("required") and one["name"] not in known:
                    yield f"{here} needs {one['name']}"
    for name, schema in old["components"]["schemas"].items():
        now = new["components"]["schemas"].get(name)
        if now is None:
            yield f"{name} is gone"
            continue
        for field, kind in schema.get("properties", {}).items():
            if field not in now.get("properties", {}):
                yield f"{name}.{field} is gone"
            elif kind.get("type") != now["properties"][field].get("type"):
                yield f"{name}.{field} has another type"
        if name.endswith("Body") or name == "Question":
            yield from (
                f"{name} needs {one}" for one in {*now.get("required", ())} - {*schema.get("required", ())}
            )


def test_nothing_that_was_promised_is_broken():
    promised = json.loads(PROMISED.read_text(encoding="utf-8"))
    assert [*_breaks(promised, document())] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["paths"].pop("/v1/search"),
        lambda d: d["paths"]["/v1/plan"]["post"].update(operationId="other"),
        lambda d: d["components"]["schemas"]["Hit"]["properties"].pop("score"),
        lambda d: d["components"]["schemas"]["Hit"]["properties"]["score"].update(type="string"),
        lambda d: d["components"]["schemas"]["SearchBody"].update(required=["text"]),
        lambda d: d["paths"]["/v1/papers"]["get"]["parameters"].append({"name": "new", "required": True}),
    ],
)
def test_a_breaking_change_is_noticed(change):
    changed = json.loads(json.dumps(document()))
    change(changed)
    assert [*_breaks(document(), changed)]


def test_schemathesis_finds_no_fault(demo_folder, tmp_path):
    """All checks of schemathesis, over a real server; each refusal that a schema cannot state is a 422."""
    folder = copy_of(demo_folder, tmp_path / "copy")
    with serving_process(folder, tmp_path) as address:
        done = subprocess.run(
            [
                *(
                    str(Path(sys.executable).with_name("schemathesis")),
                    "--config-file",
                    str(HERE / "schemathesis.toml"),
                ),
                *("run", str(COMMITTED), "--url", address, "--checks", "all"),
                *("--max-examples", "8" if LONG else "2"),
                *(
                    "--no-color",
                    "--seed",
                    "1",
                    "--continue-on-failure",
                    "--phases",
                    "coverage,fuzzing" if LONG else "fuzzing",
                    "-w",
                    "4",
                ),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
            check=False,
        )
    assert done.returncode == 0, done.stdout.partition(" FAILURES ")[2][:8000] or done.stdout[-4000:]
    assert " 0 generated" not in done.stdout
