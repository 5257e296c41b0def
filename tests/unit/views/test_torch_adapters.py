"""Adapters of sentence-transformers models, against weights merged and layers computed by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torch_models
from aspectra.base.errors import NotTrusted, UsageError
from aspectra.base.trust import Permission, allow
from aspectra.views.encoders.protocol import ENCODERS, Encoder, Kind, load_encoder, needs_of
from aspectra.views.encoders.torch.loading import adapter_folder
from torch_models import needs_torch

TEXTS = ["dense retrieval", "owls hunt at night, and sleep by day.", "a"]
SEQ_BN = {
    "adapter_residual_before_ln": False,
    "cross_adapter": False,
    "dropout": 0.0,
    "factorized_phm_W": True,
    "init_weights": "bert",
    "inv_adapter": None,
    "inv_adapter_reduction_factor": None,
    "is_parallel": False,
    "leave_out": [],
    "ln_after": False,
    "ln_before": False,
    "mh_adapter": False,
    "non_linearity": "relu",
    "original_ln_after": True,
    "original_ln_before": True,
    "output_adapter": True,
    "phm_dim": 4,
    "phm_layer": False,
    "reduction_factor": 4,
    "residual_before_ln": True,
    "scaling": 1.0,
    "shared_W_phm": False,
    "use_gating": False,
}


def encoder(place: Path, options: str = "") -> Encoder:
    return ENCODERS.get("sentence-transformers")(f"{place}?{options}" if options else str(place))


def vectors(made: Encoder, kind: Kind) -> np.ndarray[Any, Any]:
    return made.encode(TEXTS, kind=kind).vectors


def mean(rows: list[Any]) -> np.ndarray[Any, Any]:
    found = np.stack([row.mean(dim=0).numpy() for row in rows])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture(scope="module", autouse=True)
def _quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT folder with the LoRA adapters ``papers`` and ``questions`` in it."""
    folder = torch_models.bert(tmp_path_factory.mktemp("adapters") / "model")
    torch_models.lora(folder, folder / "papers", 1)
    torch_models.lora(folder, folder / "questions", 2)
    return folder


def merged(model: Path, adapter: str, out: Path) -> Path:
    """The model with W + (alpha / r) B A in place of W, written by hand."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(model, out, ignore=shutil.ignore_patterns("papers", "questions"))
    weights = load_file(out / "model.safetensors")
    pairs = load_file(model / adapter / "adapter_model.safetensors")
    changed = 0
    for key, low in pairs.items():
        if key.endswith("lora_A.weight"):
            name = key.removeprefix("base_model.model.").replace("lora_A.weight", "weight")
            weights[name] = weights[name] + 2.0 * pairs[key.replace("lora_A", "lora_B")] @ low
            changed += 1
    assert changed == 4
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    return out


@needs_torch
def test_each_kind_has_its_adapter_whatever_was_encoded_before(model: Path, tmp_path: Path) -> None:
    both = encoder(model, "adapter=papers&query_adapter=questions")
    wanted = {
        kind: mean(torch_models.states(merged(model, name, tmp_path / name), TEXTS))
        for kind, name in (("document", "papers"), ("query", "questions"))
    }
    assert np.abs(wanted["document"] - wanted["query"]).max() > 0.01
    for kind in ("document", "query", "query", "document", "query"):
        np.testing.assert_allclose(vectors(both, kind), wanted[kind], atol=1e-5)
    one = encoder(model, "adapter=papers")
    for kind in ("query", "document"):
        np.testing.assert_allclose(vectors(one, kind), wanted["document"], atol=1e-5)


@needs_torch
@pytest.mark.parametrize(
    ("options", "bare"), [("adapter=papers&query_adapter=", "query"), ("query_adapter=questions", "document")]
)
def test_a_kind_without_an_adapter_is_encoded_by_the_model(model: Path, options: str, bare: Kind) -> None:
    made, plain = encoder(model, options), mean(torch_models.states(model, TEXTS))
    for _ in range(2):
        np.testing.assert_allclose(vectors(made, bare), plain, atol=1e-5)
        other: Kind = "document" if bare == "query" else "query"
        assert np.abs(vectors(made, other) - plain).max() > 0.01


@needs_torch
def test_threads_that_encode_both_kinds_get_what_they_get_alone(model: Path) -> None:
    made = encoder(model, "adapter=papers&query_adapter=questions")
    kinds: list[Kind] = ["query", "document", "document", "query"] * 12
    alone = {kind: vectors(made, kind) for kind in ("query", "document")}
    with ThreadPoolExecutor(4) as pool:
        for kind, found in zip(kinds, pool.map(lambda kind: vectors(made, kind), kinds), strict=True):
            np.testing.assert_allclose(found, alone[kind], atol=1e-5)


@needs_torch
def test_adapters_are_part_of_the_fingerprint(model: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(model / "papers", outside)
    specs = [
        "",
        "adapter=papers",
        "adapter=questions",
        "adapter=papers&query_adapter=",
        "query_adapter=papers",
        "adapter=papers&query_adapter=questions",
        f"adapter={outside}",
    ]
    first = encoder(model, specs[-1]).fingerprint
    assert first == encoder(model, specs[-1]).fingerprint
    assert len({encoder(model, options).fingerprint for options in specs}) == len(specs)
    torch_models.lora(model, outside, 3)
    assert encoder(model, specs[-1]).fingerprint != first


@needs_torch
def test_an_adapter_that_does_not_fit_is_refused(model: Path, tmp_path: Path) -> None:
    from peft import PromptTuningConfig

    with pytest.raises(UsageError, match="no adapter 'nowhere'"):
        encoder(model, "adapter=nowhere")
    with pytest.raises(UsageError, match="no adapter"):
        encoder(model, f"adapter={tmp_path / 'nowhere'}")
    PromptTuningConfig(num_virtual_tokens=3).save_pretrained(tmp_path / "prompt")
    with pytest.raises(UsageError, match="cannot be used"):
        encoder(model, f"adapter={tmp_path / 'prompt'}")
    half = shutil.copytree(model / "papers", tmp_path / "half")
    from safetensors.torch import load_file, save_file

    weights = load_file(half / "adapter_model.safetensors")
    save_file({k: v for k, v in weights.items() if "layer.0" in k}, half / "adapter_model.safetensors")
    with pytest.raises(UsageError, match="cannot be used") as caught:
        encoder(model, f"adapter={half}")
    assert "do not fit" in (caught.value.why or "")


@needs_torch
def test_an_adapter_in_a_models_place_does_not_load_what_it_names(model: Path) -> None:
    with pytest.raises(UsageError, match="is an adapter, not a model") as caught:
        encoder(model / "papers")
    assert "?adapter=" in (caught.value.hint or "")


@pytest.mark.usefixtures("home")
def test_adapters_outside_the_models_folder_need_permissions_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "adapter").mkdir()
    spec = f"sentence-transformers:some/model?adapter={tmp_path / 'adapter'}&query_adapter=owner/name@abc"
    assert needs_of(spec) == [
        Permission("model", "some/model"),
        Permission("model", str(tmp_path / "adapter")),
        Permission("model", "owner/name@abc"),
    ]
    assert needs_of("sentence-transformers:some/model?adapter=inside&query_adapter=") == [
        Permission("model", "some/model")
    ]
    for value in ("..", "./inside", "~", "a:b", "a\\b"):
        assert len(needs_of(f"sentence-transformers:some/model?adapter={value}")) == 2, value
    allow(Permission("model", "some/model"))
    with pytest.raises(NotTrusted, match=r"the model .*adapter would be loaded"):
        load_encoder(spec)


def test_adapters_on_a_hub_come_with_their_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, str | None, bool]] = []
    snapshot = tmp_path / "abc123"
    for folder in (snapshot, snapshot / "inside"):
        folder.mkdir()
        (folder / "adapter_config.json").write_text("{}", "utf-8")

    def fetch(name: str, *, revision: str | None, allow_patterns: list[str], local_files_only: bool) -> str:
        calls.append((name, revision, local_files_only))
        assert all("adapter" in pattern for pattern in allow_patterns)
        if name == "owner/missing":
            raise OSError("not found")
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    monkeypatch.setenv("ASPECTRA_OFFLINE", "1")
    found = adapter_folder("some/model", "v1", "owner/name@v2")
    assert found == (snapshot, {"hub": "owner/name", "commit": "abc123"})
    assert adapter_folder("some/model", "v1", "inside") == (
        snapshot / "inside",
        {"inside the model": "inside"},
    )
    monkeypatch.delenv("ASPECTRA_OFFLINE")
    adapter_folder("some/model", None, "owner/name")
    assert calls == [("owner/name", "v2", True), ("some/model", "v1", True), ("owner/name", None, False)]
    with pytest.raises(UsageError, match="cannot find 'owner/missing'"):
        adapter_folder("some/model", None, "owner/missing")


# Bottleneck adapters of the `adapters` library.


def bottleneck(folder: Path, seed: int = 5, layers: tuple[int, ...] = (0, 1), **changed: Any) -> Path:
    import torch

    torch.manual_seed(seed)
    folder.mkdir(parents=True)
    config = {"config": {**SEQ_BN, **changed}, "hidden_size": 32, "model_type": "bert", "name": "[PRX]"}
    (folder / "adapter_config.json").write_text(json.dumps(config), "utf-8")
    weights = {}
    for layer in layers:
        at = f"bert.encoder.layer.{layer}.output.adapters.[PRX].adapter_"
        weights[f"{at}down.0.weight"], weights[f"{at}down.0.bias"] = torch.randn(8, 32), torch.randn(8)
        weights[f"{at}up.weight"], weights[f"{at}up.bias"] = torch.randn(32, 8), torch.randn(32)
    torch.save(weights, folder / "pytorch_adapter.bin")
    return folder


def by_hand(model: Path, adapter: Path) -> np.ndarray[Any, Any]:
    """First states of each text, layer by layer, with the adapter's part written out."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    plain, words = AutoModel.from_pretrained(model).eval(), AutoTokenizer.from_pretrained(model)
    part = torch.load(adapter / "pytorch_adapter.bin", weights_only=True)
    rows = []
    with torch.no_grad():
        for text in TEXTS:
            x = plain.embeddings(input_ids=words(text, return_tensors="pt")["input_ids"])
            for number, layer in enumerate(plain.encoder.layer):
                x = layer.attention(x)[0]
                dense = layer.output.dense(layer.intermediate(x))
                normed = layer.output.LayerNorm(dense + x)
                at = f"bert.encoder.layer.{number}.output.adapters.[PRX].adapter_"
                if f"{at}up.bias" in part:
                    down = torch.relu(normed @ part[f"{at}down.0.weight"].T + part[f"{at}down.0.bias"])
                    up = down @ part[f"{at}up.weight"].T + part[f"{at}up.bias"]
                    normed = layer.output.LayerNorm(up + dense + x)
                x = normed
            rows.append(x[0, 0].numpy())
    found = np.stack(rows)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@needs_torch
def test_bottleneck_adapters_compute_what_their_library_does(model: Path, tmp_path: Path) -> None:
    one, other = bottleneck(tmp_path / "one"), bottleneck(tmp_path / "other", 6, (1,), leave_out=[0])
    made = encoder(model, f"pooling=cls&adapter={one}&query_adapter={other}")
    plain = vectors(encoder(model, "pooling=cls"), "document")
    for kind, adapter in (("query", other), ("document", one), ("query", other)):
        wanted = by_hand(model, adapter)
        np.testing.assert_allclose(vectors(made, kind), wanted, atol=1e-5)
        assert np.abs(wanted - plain).max() > 0.01
    bare = encoder(model, f"pooling=cls&adapter={one}&query_adapter=")
    for _ in range(2):
        np.testing.assert_allclose(vectors(bare, "document"), by_hand(model, one), atol=1e-5)
        np.testing.assert_allclose(vectors(bare, "query"), plain, atol=1e-6)


@needs_torch
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"mh_adapter": True}, "mh_adapter = True"),
        ({"is_parallel": True}, "is_parallel = True"),
        ({"phm_layer": True}, "phm_layer = True"),
        ({"scaling": 2.0}, "scaling = 2.0"),
        ({"non_linearity": "leakyrelu"}, "non_linearity"),
        ({"invented": 1}, "invented = 1"),
        ({"leave_out": [1]}, "weights for 2 layers"),
    ],
)
def test_other_bottlenecks_are_refused(
    model: Path, tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match="cannot be used") as caught:
        encoder(model, f"adapter={bottleneck(tmp_path / 'adapter', **changed)}")
    assert why in (caught.value.why or "")


@needs_torch
def test_damaged_bottlenecks_are_refused(model: Path, tmp_path: Path) -> None:
    import torch

    folder = bottleneck(tmp_path / "adapter")
    weights = torch.load(folder / "pytorch_adapter.bin", weights_only=True)
    last = list(weights)[-1]
    for broken in (
        {k: v for k, v in weights.items() if k != last},
        {**weights, "heads.x.weight": weights[last]},
        {k: v[:4] if k.endswith("up.weight") else v for k, v in weights.items()},
    ):
        torch.save(broken, folder / "pytorch_adapter.bin")
        with pytest.raises(UsageError, match="cannot be used"):
            encoder(model, f"adapter={folder}")
    (folder / "pytorch_adapter.bin").write_bytes(b"nothing")
    with pytest.raises(UsageError, match="cannot be used"):
        encoder(model, f"adapter={folder}")
