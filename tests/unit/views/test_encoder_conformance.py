"""What every encoder promises. A new encoder joins by one more entry in ``ENCODERS_UNDER_TEST``."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra, NotTrusted, UsageError
from aspectra.base.trust import Permission, allow
from aspectra.testing.views import EncoderConformance
from aspectra.views.encoders.protocol import (
    ENCODERS,
    Encoder,
    EncoderFactory,
    load_encoder,
    permit_encoder,
)
from folder_models import MODELS, write_model
from folder_onnx import write_onnx
from late_models import write_late_model

OURS = frozenset(ENCODERS.names()) - {"fake"}  # which the kill tests register, in this process or not


class _Server(BaseHTTPRequestHandler):
    """Vectors from a hash of the text, in reverse order: clients must sort by index."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = []
        for index, text in enumerate(body["input"]):
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
            data.append({"index": index, "embedding": np.random.default_rng(seed).normal(size=24).tolist()})
        raw = json.dumps({"data": data[::-1]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A randomly initialised sentence-transformers model, made on the spot."""
    for needed in ("torch", "sentence_transformers"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"the encoder sentence-transformers needs {needed}: pip install 'aspectra[torch]'")
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"), ".", ","]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "search", "engine", "papers", *letters]
    plain = folder / "plain"
    plain.mkdir()
    (plain / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    torch.manual_seed(0)
    BertModel(
        BertConfig(
            vocab_size=len(words),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
        )
    ).save_pretrained(plain)
    BertTokenizerFast(str(plain / "vocab.txt"), model_max_length=64).save_pretrained(plain)
    model = SentenceTransformer(str(plain), device="cpu", prompts={"query": "search ", "document": ""})
    model.max_seq_length = 64
    model.save(str(folder / "model"))
    return str(folder / "model")


def _minilm(_: pytest.FixtureRequest) -> str:
    return "minilm"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models in folders, by their names."""
    place = tmp_path_factory.mktemp("folders")
    for name in ("bert", "modernbert", "cls"):
        write_model(place / name, MODELS[name])
    write_late_model(place / "late", "pylate")
    write_onnx(write_model(place / "onnx", MODELS["bert"]))
    (place / "onnx" / "model.safetensors").unlink()
    return place


def _local(name: str) -> Callable[[pytest.FixtureRequest], str]:
    return lambda request: f"local:{request.getfixturevalue('folders')}/{name}"


def _colbert(request: pytest.FixtureRequest) -> str:
    return f"colbert:{request.getfixturevalue('folders')}/late"


def _sentence_transformers(request: pytest.FixtureRequest) -> str:
    return "sentence-transformers:" + str(request.getfixturevalue("tiny_model"))


def _openai(request: pytest.FixtureRequest) -> str:
    return "openai:test-model?base_url=" + str(request.getfixturevalue("server"))


ENCODERS_UNDER_TEST: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "minilm": _minilm,
    "local": _local("bert"),
    "local, rotary positions": _local("modernbert"),
    "local, first token": _local("cls"),
    "local, ONNX": _local("onnx"),
    "colbert": _colbert,
    "sentence-transformers": _sentence_transformers,
    "openai": _openai,
}


@pytest.fixture(scope="module", params=ENCODERS_UNDER_TEST)
def spec(request: pytest.FixtureRequest) -> str:
    return ENCODERS_UNDER_TEST[request.param](request)


@pytest.fixture(scope="module")
def encoder(spec: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encoder]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("OPENAI_API_KEY", raising=False)
        patch.delenv("ASPECTRA_OFFLINE", raising=False)
        permit_encoder(spec)
        try:
            yield load_encoder(spec)
        except MissingExtra as error:
            pytest.skip(f"{error.what}: {error.hint}")


def test_every_builtin_encoder_is_tested() -> None:
    assert set(ENCODERS_UNDER_TEST) >= OURS


class TestEncoders(EncoderConformance):
    """Every encoder of the table above."""


def test_two_of_one_specification_have_one_fingerprint(encoder: Encoder, spec: str) -> None:
    assert encoder.fingerprint == load_encoder(spec).fingerprint


def test_unknown_options_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="no option"):
        load_encoder(spec + ("&" if "?" in spec else "?" if ":" in spec else ":?") + "colour=red")


def test_prompts_reach_the_text(tiny_model: str) -> None:
    plain = load_encoder(f"sentence-transformers:{tiny_model}?query=")
    own = load_encoder(f"sentence-transformers:{tiny_model}")
    asked = load_encoder(f"sentence-transformers:{tiny_model}?instruction=the%20{{instruction}}\\nx:%20")
    assert len({plain.fingerprint, own.fingerprint, asked.fingerprint}) == 3

    def vector(encoder: Encoder, text: str, instruction: str = "") -> np.ndarray[Any, Any]:
        return encoder.encode([text], kind="query", instruction=instruction).vectors[0]

    np.testing.assert_allclose(vector(own, "papers"), vector(plain, "search papers"), atol=1e-5)
    np.testing.assert_allclose(
        vector(asked, "papers", "engine"), vector(plain, "the engine\nx: papers"), atol=1e-5
    )
    np.testing.assert_allclose(vector(own, "papers", "engine"), vector(own, "papers"), atol=1e-6)


def test_spans_skip_the_prompt(tiny_model: str) -> None:
    encoder = load_encoder(f"sentence-transformers:{tiny_model}?document=the%20search%20engine%20")
    other = load_encoder(f"sentence-transformers:{tiny_model}?document=")
    text = "papers, papers."
    ours = encoder.encode([text], spans=[[(0, len(text)), (8, 14)]]).spans[0]
    shift = len("the search engine ")
    theirs = other.encode(
        ["the search engine " + text], spans=[[(shift, shift + len(text)), (shift + 8, shift + 14)]]
    ).spans[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_model_files_decide_the_fingerprint(tiny_model: str, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "model"
    shutil.copytree(tiny_model, copy)
    make = ENCODERS.get("sentence-transformers")  # nothing here is about permissions
    same = make(str(copy))
    assert same.fingerprint == make(tiny_model).fingerprint
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    (copy / "config.json").write_text(json.dumps({**config, "note": 1}), encoding="utf-8")
    assert make(str(copy)).fingerprint != same.fingerprint


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", sorted(OURS))
def test_what_a_library_names_is_loaded_only_if_it_is_permitted(name: str) -> None:
    """The specification of an encoder is part of a library, and libraries are shared."""
    with pytest.raises(NotTrusted) as caught:
        load_encoder(f"{name}:some/model")
    assert caught.value.hint.startswith("if you trust it: aspectra config trust ")


@pytest.mark.usefixtures("home")
def test_a_library_cannot_have_a_models_code_run() -> None:
    with pytest.raises(NotTrusted, match="the model some/model would be loaded"):
        load_encoder("sentence-transformers:some/model?trust_remote_code=yes")
    allow(Permission("model", "some/model"))
    with pytest.raises(NotTrusted, match="code that comes with the model some/model would be run") as caught:
        load_encoder("sentence-transformers:some/model?trust_remote_code=yes")
    assert caught.value.hint.endswith("aspectra config trust code:some/model")
    with pytest.raises(NotTrusted, match=r"some/model@refs/pr/5"):  # anybody may propose a revision
        load_encoder("sentence-transformers:some/model?revision=refs/pr/5")


def test_code_of_a_models_folder_is_not_run_unasked(tmp_path: Path) -> None:
    """A folder's own classes would be imported even without trust_remote_code."""
    (tmp_path / "modules.json").write_text('[{"idx": 0, "type": "evil.Module", "path": ""}]', "utf-8")
    with pytest.raises(UsageError, match="code of the model") as caught:
        ENCODERS.get("sentence-transformers")(str(tmp_path))
    assert "trust_remote_code=yes" in caught.value.hint


@pytest.mark.parametrize("name", sorted(OURS))
def test_what_an_encoders_family_says_of_itself(name: str) -> None:
    factory = ENCODERS.get(name)
    assert isinstance(factory, EncoderFactory)
    assert factory.name == name
    assert factory.description == factory.description.strip(". \n")
    assert all(factory.options.values())
    with pytest.raises(UsageError, match="no option 'colour'"):
        factory("x?colour=red")
