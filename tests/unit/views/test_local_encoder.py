"""Encoders in folders: ONNX files, settings, fingerprints, spans, and what is refused with which reason."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.base.trust import Permission
from aspectra.base.values import replace
from aspectra.views.encoders.local import load_folder, make
from aspectra.views.encoders.minilm import MiniLM
from aspectra.views.encoders.protocol import POOLINGS, TokenEncoder, needs_of
from aspectra.views.encoders.transformer.network import Runtime, SafetensorsNetwork, relative_buckets
from aspectra.views.encoders.transformer.weights import FAMILIES, as_float32, read_weights
from folder_models import MODELS, TEXTS, TOKENS, WIDTH, write_model, write_safetensors
from folder_onnx import write_onnx

PLAIN = {"dtype": "f32", "threads": "2"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", MODELS["bert"])


def _vectors(place: Path, texts: Any = TEXTS, **options: str) -> Any:
    return load_folder(str(place), {**PLAIN, **options}).encode(texts).vectors


def _edit(path: Path, **values: Any) -> None:
    config = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**config, **values}), "utf-8")


def _tensors(place: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    tensors = {name: np.array(tensor) for name, tensor in read_weights(place / "model.safetensors").items()}
    write_safetensors(place / "model.safetensors", change(tensors))


# ONNX


def test_an_onnx_file_has_the_vectors_of_the_weights_it_was_made_of(folder: Path) -> None:
    expected = _vectors(folder)
    write_onnx(folder)
    write_onnx(folder, "onnx/small.onnx", kind=6, states="token_embeddings")
    np.testing.assert_allclose(_vectors(folder, file="onnx/small.onnx"), expected, atol=1e-5)
    (folder / "model.safetensors").unlink()
    encoder = load_folder(str(folder), PLAIN)
    np.testing.assert_allclose(encoder.encode(TEXTS).vectors, expected, atol=1e-5)
    assert encoder.max_tokens == TOKENS
    assert isinstance(encoder, TokenEncoder)


def test_onnx_is_used_where_the_architecture_is_not_known(folder: Path) -> None:
    expected = _vectors(folder)
    write_onnx(folder)
    _edit(folder / "config.json", model_type="new", auto_map={"AutoModel": "code.Model"})
    np.testing.assert_allclose(_vectors(folder), expected, atol=1e-5)
    (folder / "config.json").unlink()
    (folder / "model.safetensors").unlink()
    np.testing.assert_allclose(_vectors(folder), expected, atol=1e-5)


def test_damaged_weights_are_not_replaced_by_an_onnx_file(folder: Path) -> None:
    write_onnx(folder)
    (folder / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(UsageError, match="cannot read the weights"):
        load_folder(str(folder), PLAIN)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"only_pooled": True}, "gives no states of tokens"),
        ({"ids": "pixels"}, r"has an input \['pixels'\]"),
        ({"sizes": (1, 32)}, "takes texts of one length only"),
    ],
)
def test_other_onnx_files_are_refused(folder: Path, options: dict[str, Any], reason: str) -> None:
    write_onnx(folder, **options)
    (folder / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="without torch") as caught:
        load_folder(str(folder), PLAIN)
    assert re.search(reason, caught.value.why)


def test_a_file_that_is_no_onnx_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.onnx").write_bytes(b"\x08\x08nothing")
    with pytest.raises(UsageError) as caught:
        load_folder(str(folder), PLAIN)
    assert "OpenVINO cannot read model.onnx" in caught.value.why


def test_the_file_beside_an_onnx_file_is_part_of_the_fingerprint(folder: Path) -> None:
    write_onnx(folder)
    (folder / "model.safetensors").unlink()
    before = load_folder(str(folder), PLAIN).fingerprint
    (folder / "onnx" / "model.onnx_data").write_bytes(b"1")
    assert load_folder(str(folder), PLAIN).fingerprint != before


# What decides the vectors


def test_options_and_configuration_are_part_of_the_fingerprint(folder: Path, tmp_path: Path) -> None:
    def fingerprint(**options: str) -> str:
        return load_folder(str(folder), {**PLAIN, **options}).fingerprint

    first = fingerprint()
    assert fingerprint(threads="1", dtype="auto") == first
    (folder / "README.md").write_text("a note", "utf-8")
    assert fingerprint() == first
    assert load_folder(str(shutil.copytree(folder, tmp_path / "copy")), PLAIN).fingerprint == first
    seen = {first}
    for options in (
        {"pooling": "cls"},
        {"max_tokens": "20"},
        {"normalize": "no"},
        {"query": "x "},
        {"document": "x "},
        {"template": "e5-instruct"},
    ):
        seen.add(fingerprint(**options))
    changes: list[Callable[[], Any]] = [
        lambda: _edit(folder / "config.json", hidden_act="relu"),
        lambda: _edit(folder / "1_Pooling" / "config.json", pooling_mode="max"),
        lambda: _edit(folder / "sentence_bert_config.json", do_lower_case=True),
        lambda: _edit(folder / "config_sentence_transformers.json", prompts={"query": "other: "}),
        lambda: _tensors(folder, lambda found: {**found, "extra": np.zeros(1)}),
        lambda: (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text("utf-8") + " "),
    ]
    for change in changes:
        change()
        seen.add(fingerprint())
    assert len(seen) == 1 + 6 + len(changes)
    plain = write_model(tmp_path / "plain", MODELS["last"])
    kept = load_folder(str(plain), {**PLAIN, "normalize": "no"})
    assert kept.fingerprint != load_folder(str(plain), PLAIN).fingerprint


def test_weights_of_the_layers_behind_the_pooling_are_part_of_it(tmp_path: Path) -> None:
    place = write_model(tmp_path / "model", MODELS["dense"])
    before = load_folder(str(place), PLAIN).fingerprint
    raw = bytearray((place / "2_Dense" / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (place / "2_Dense" / "model.safetensors").write_bytes(raw)
    assert load_folder(str(place), PLAIN).fingerprint != before


def test_shards_of_one_model_have_its_vectors(folder: Path, tmp_path: Path) -> None:
    split = write_model(tmp_path / "split", replace(MODELS["bert"], shards=4))
    np.testing.assert_array_equal(_vectors(split), _vectors(folder))
    (split / "model-00002-of-00004.safetensors").unlink()
    with pytest.raises(UsageError, match="lacks a part") as caught:
        _vectors(split)
    assert caught.value.why == "model-00002-of-00004.safetensors"
    index = split / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"x": "../model.safetensors"}}), "utf-8")
    with pytest.raises(UsageError, match="cannot read"):
        _vectors(split)


def test_names_of_tensors_in_older_files_and_of_models_with_a_head(folder: Path) -> None:
    expected = _vectors(folder)
    endings = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def older(name: str) -> str:
        for new, old in endings.items():
            name = name.removesuffix(new) + old if name.endswith(new) else name
        return "bert." + name

    _tensors(folder, lambda found: {older(name): tensor for name, tensor in found.items()})
    np.testing.assert_array_equal(_vectors(folder), expected)


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_half_precision_weights_are_read_exactly(tmp_path: Path, dtype: str) -> None:
    values = np.array([[1.0, -2.5, 0.0], [3.0625, 1e-3, 65280.0]], dtype=np.float32)
    write_safetensors(tmp_path / "x", {"w": values}, dtype)
    found = as_float32(read_weights(tmp_path / "x")["w"])
    assert found.dtype == np.float32
    assert found.shape == values.shape
    exact = [[True, True, True], [True, False, True]]
    np.testing.assert_array_equal(found == values, exact)
    np.testing.assert_allclose(found, values, rtol=2**-7)


def test_the_longest_texts_have_the_places_that_the_model_knows(tmp_path: Path) -> None:
    for family, expected in (("bert", 200), ("roberta", 199), ("mpnet", 198), ("modernbert", 200)):
        place = write_model(tmp_path / family, replace(MODELS[family], settings={}))
        _edit(place / "tokenizer_config.json", model_max_length=10**30)
        encoder = load_folder(str(place), PLAIN)
        assert encoder.max_tokens == expected
        _edit(place / "tokenizer_config.json", model_max_length=512)
        assert load_folder(str(place), PLAIN).max_tokens == expected
        text = "papers " * 300
        assert encoder.encode([text]).truncated.tolist() == [True]
        for wrong in ("2", str(encoder.max_tokens + 1)):
            with pytest.raises(UsageError, match="max_tokens must be between"):
                load_folder(str(place), {**PLAIN, "max_tokens": wrong})


def test_the_maximum_length_of_the_settings_comes_before_the_tokenizers(folder: Path) -> None:
    assert load_folder(str(folder), PLAIN).max_tokens == TOKENS
    (folder / "sentence_bert_config.json").unlink()
    assert load_folder(str(folder), PLAIN).max_tokens == 196
    _edit(folder / "tokenizer_config.json", truncation_side="left")
    left = load_folder(str(folder), {**PLAIN, "max_tokens": "4"}).encode(["graph search engine papers"])
    assert left.truncated.tolist() == [True]
    np.testing.assert_allclose(left.vectors, _vectors(folder, ["engine papers"]), atol=1e-5)


def test_a_plain_transformer_is_pooled_by_the_mean_or_as_the_option_says(folder: Path) -> None:
    expected = _vectors(folder)
    (folder / "modules.json").unlink()
    shutil.rmtree(folder / "1_Pooling")
    np.testing.assert_array_equal(_vectors(folder), expected)
    first = _vectors(folder, pooling="cls")
    _edit(folder / "1_Pooling" / "config.json", pooling_mode_cls_token=True)
    np.testing.assert_array_equal(_vectors(folder), first)
    _edit(folder / "1_Pooling" / "config.json", pooling_mode_cls_token=False)
    np.testing.assert_array_equal(_vectors(folder), expected)
    asked = {"document": "the: ", "pooling": "max"}
    assert np.abs(_vectors(folder, include_prompt="no", **asked) - _vectors(folder, **asked)).max() > 0.01
    with pytest.raises(UsageError, match="no pooling 'middle'"):
        _vectors(folder, pooling="middle")


def test_minilm_and_local_agree_on_a_folder_that_both_can_load(folder: Path) -> None:
    one = MiniLM(folder, max_tokens=TOKENS, dtype="f32", threads=2)
    np.testing.assert_array_equal(one.encode(TEXTS).vectors, _vectors(folder))


def test_instructions_reach_the_text_by_the_rules_of_prompts(folder: Path) -> None:
    _edit(folder / "config_sentence_transformers.json", prompts={"query": "Instruct: find papers\nQuery: "})
    encoder = load_folder(str(folder), PLAIN)
    asked = encoder.encode(["graphs"], kind="query", instruction="search").vectors
    plain = load_folder(str(folder), {**PLAIN, "query": "", "document": ""})
    expected = plain.encode(["Instruct: search\nQuery: graphs"], kind="query").vectors
    np.testing.assert_allclose(asked, expected, atol=1e-5)
    np.testing.assert_array_equal(encoder.encode(["graphs"]).vectors, plain.encode(["graphs"]).vectors)


def test_another_similarity_than_the_cosine_is_said(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    _edit(folder / "config_sentence_transformers.json", similarity_fn_name="dot")
    with caplog.at_level(logging.WARNING):
        load_folder(str(folder), PLAIN)
    assert "trained for the similarity 'dot'" in caplog.text
    caplog.clear()
    load_folder(str(folder), {**PLAIN, "normalize": "no"})
    assert not caplog.text


def test_number_types_are_compared_by_the_pooling_of_the_model(folder: Path) -> None:
    seen = []

    def pool(states: Any) -> Any:
        seen.append(states.shape)
        return states[0]

    runtime = Runtime(SafetensorsNetwork(folder), pool, "identity", dtype="f32", threads=1)
    _, vectors = runtime._trial("f32")
    assert seen == [(128, WIDTH)] * 4
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_page_names_what_runs_without_torch() -> None:
    page = (Path(__file__).parents[3] / "docs" / "encoders.md").read_text("utf-8")
    for name in (*FAMILIES, *POOLINGS):
        assert f"`{name}`" in page
    assert f"{len(MODELS)} tiny models" in page


# Tokens and spans


def test_spans_and_token_states_leave_the_prompt_out(folder: Path) -> None:
    encoder = load_folder(str(folder), {**PLAIN, "document": "the search engine "})
    other = load_folder(str(folder), {**PLAIN, "document": ""})
    text, shift = "papers, papers.", len("the search engine ")
    spans = [(0, len(text)), (8, 14)]
    ours = encoder.encode([text], spans=[spans]).spans[0]
    moved = [(start + shift, end + shift) for start, end in spans]
    theirs = other.encode(["the search engine " + text], spans=[moved]).spans[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert isinstance(encoder, TokenEncoder)
    seen: list[tuple[int, int]] = []

    def each(_: int, states: Any, offsets: Any) -> None:
        assert states.shape == (len(offsets), WIDTH)
        seen.extend((int(a), int(b)) for a, b in offsets if a < b)

    encoder.encode_tokens([text], each)
    assert [text[a:b] for a, b in seen] == ["papers", ",", "papers", "."]


@pytest.mark.parametrize("name", ["cls", "dense", "weighted", "joined"])
def test_only_the_mean_of_tokens_can_be_pooled_late(tmp_path: Path, name: str) -> None:
    encoder = load_folder(str(write_model(tmp_path / "model", MODELS[name])), PLAIN)
    assert not encoder.late_pooling
    assert not isinstance(encoder, TokenEncoder)
    with pytest.raises(UsageError, match="cannot pool spans") as caught:
        encoder.encode(["papers"], spans=[[(0, 3)]])
    assert caught.value.why == "it does not pool by the mean, or has layers behind it"


def test_a_text_without_any_token_has_no_vector(folder: Path) -> None:
    from tokenizers import Tokenizer, processors

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.Sequence([])
    tokenizer.save(str(folder / "tokenizer.json"))
    encoder = load_folder(str(folder), PLAIN)
    result = encoder.encode(["", "papers"], spans=[[(0, 1)], [(0, 6)]])
    assert np.linalg.norm(result.vectors, axis=1) == pytest.approx([0, 1])
    assert [np.linalg.norm(rows) for rows in result.spans] == pytest.approx([0, 1])
    assert encoder.encode([""]).vectors.tolist() == [[0.0] * WIDTH]


def test_relative_positions_fall_into_the_buckets_of_the_reference() -> None:
    """Edges of the logarithmic buckets, by the formula in exact arithmetic: 8 * 2^k and beyond."""
    edges = [8, 9, 11, 12, 15, 16, 22, 23, 31, 32, 45, 46, 63, 64, 90, 91, 127, 128, 10_000]
    expected = [8, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 15, 15]
    assert relative_buckets(-np.array(edges)).tolist() == expected
    assert relative_buckets(np.array(edges)).tolist() == [16 + bucket for bucket in expected]
    assert relative_buckets(np.arange(-7, 8)).tolist() == [7, 6, 5, 4, 3, 2, 1, 0, *range(17, 24)]


# Refusals

_WAY_OUT = "load it as sentence-transformers:"


def _module(place: Path, number: int, **values: Any) -> None:
    path = place / "modules.json"
    modules = json.loads(path.read_text("utf-8"))
    modules[number].update(values)
    path.write_text(json.dumps(modules), "utf-8")


REFUSED: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "own code": (
        "bert",
        lambda f: _edit(f / "config.json", auto_map={"AutoModel": "code.Model"}),
        "code of its own (auto_map)",
    ),
    "own module": (
        "bert",
        lambda f: _module(f, 0, type="custom_st.Transformer"),
        "code of its own (custom_st.Transformer)",
    ),
    "architecture": (
        "bert",
        lambda f: _edit(f / "config.json", model_type="qwen3"),
        "its architecture is 'qwen3'; known without torch: bert,",
    ),
    "decoder": ("bert", lambda f: _edit(f / "config.json", is_decoder=True), "it is a decoder"),
    "adapter": ("bert", lambda f: _edit(f / "adapter_config.json", r=4), "it holds an adapter"),
    "quantised": (
        "bert",
        lambda f: _edit(f / "config.json", quantization_config={"bits": 4}),
        "its weights are quantised",
    ),
    "positions": (
        "bert",
        lambda f: _edit(f / "config.json", position_embedding_type="alibi"),
        "its positions are 'alibi'",
    ),
    "activation": ("bert", lambda f: _edit(f / "config.json", hidden_act="mish"), "its activation is 'mish'"),
    "embedding size": (
        "electra",
        lambda f: _edit(f / "config.json", embedding_size=8),
        "its embeddings are of another size",
    ),
    "scaled rotary": (
        "modernbert",
        lambda f: _edit(f / "config.json", rope_parameters={"full_attention": {"rope_type": "yarn"}}),
        "its rotary positions are scaled",
    ),
    "kinds of layers": (
        "modernbert",
        lambda f: _edit(f / "config.json", layer_types=["full_attention"] * 2 + ["linear"]),
        "its layers are of the kinds ['full_attention', 'linear']",
    ),
    "tokenizer": ("bert", lambda f: (f / "tokenizer.json").unlink(), "there is no tokenizer.json"),
    "weights": ("bert", lambda f: (f / "model.safetensors").unlink(), "its weights are not there"),
    "pickled weights": (
        "bert",
        lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"),
        "its weights are only as pytorch_model.bin",
    ),
    "pickled layer": (
        "dense",
        lambda f: (f / "2_Dense" / "model.safetensors").unlink(),
        "the weights of its module 2_Dense are not in safetensors",
    ),
    "missing tensor": (
        "bert",
        lambda f: _tensors(f, lambda t: {n: v for n, v in t.items() if "1.output.dense.bias" not in n}),
        "its weights hold no tensor 'encoder.layer.1.output.dense.bias'",
    ),
    "sizes": (
        "bert",
        lambda f: _edit(f / "config.json", num_attention_heads=16, hidden_size=32),
        "do not fit",
    ),
    "pooling": (
        "bert",
        lambda f: _edit(f / "1_Pooling" / "config.json", pooling_mode="median"),
        "it pools by 'median'",
    ),
    "module": (
        "bert",
        lambda f: _module(f, 2, type="sentence_transformers.models.LSTM"),
        "its module 2_Normalize is a LSTM",
    ),
    "no pooling": (
        "bert",
        lambda f: _module(f, 1, type="sentence_transformers.models.Dense"),
        "its modules are Transformer, Dense, Normalize",
    ),
    "token projection": (
        "dense",
        lambda f: _edit(f / "2_Dense" / "config.json", module_input_name="token_embeddings"),
        "its module 2_Dense works on 'token_embeddings'",
    ),
    "layer's activation": (
        "dense",
        lambda f: _edit(f / "2_Dense" / "config.json", activation_function="evil.Code"),
        "has the activation evil.Code",
    ),
    "setting": (
        "bert",
        lambda f: _edit(f / "sentence_bert_config.json", query_length=32),
        "its sentence_bert_config.json sets query_length",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_run_is_refused_with_the_reason_and_the_way_out(name: str, tmp_path: Path) -> None:
    model, change, reason = REFUSED[name]
    place = write_model(tmp_path / "model", MODELS[model])
    change(place)
    with pytest.raises(UsageError, match="cannot be run without torch") as caught:
        load_folder(str(place), PLAIN).encode(["papers"])
    assert reason in caught.value.why
    assert caught.value.hint.startswith(_WAY_OUT + str(place))


DAMAGED: dict[str, tuple[str, bytes]] = {
    "configuration": ("config.json", b"{"),
    "no object": ("config.json", b"[1]"),
    "sizes": ("config.json", b'{"model_type": "bert", "num_hidden_layers": "many"}'),
    "nested": ("config.json", b"[" * 100_000),
    "modules": ("modules.json", b'[{"type": 1}]'),
    "outside": ("modules.json", b'[{"type": "sentence_transformers.models.Transformer", "path": "../x"}]'),
    "tokenizer": ("tokenizer.json", b"{}"),
    "weights": ("model.safetensors", b"\xff" * 40),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_named(name: str, folder: Path) -> None:
    file, content = DAMAGED[name]
    (folder / file).write_bytes(content)
    with pytest.raises(UsageError, match="cannot read") as caught:
        load_folder(str(folder), PLAIN).encode(["papers"])
    assert file in caught.value.what


def test_a_tokenizer_of_another_model_is_named(folder: Path) -> None:
    word = "embeddings.word_embeddings.weight"
    _tensors(folder, lambda found: {**found, word: found[word][:6]})
    with pytest.raises(UsageError, match="does not fit its weights"):
        _vectors(folder)


@pytest.mark.parametrize(
    "argument",
    ["", "nowhere", "{0}?file=config.json", "{0}?file=../x.onnx", "{0}?normalize=maybe", "{0}?dtype=int8"],
)
def test_arguments_that_mean_nothing(folder: Path, argument: str) -> None:
    with pytest.raises(UsageError):
        make(argument.format(folder)).encode(["x"])


def test_a_library_that_names_a_folder_needs_the_permission_for_it() -> None:
    assert needs_of("local:~/models/x?pooling=cls") == [Permission.folder("~/models/x")]


def test_minilm_names_the_encoder_that_takes_other_folders(tmp_path: Path) -> None:
    for name in ("cls", "mpnet", "dense", "bert-relu"):
        place = write_model(tmp_path / name, MODELS[name])
        with pytest.raises(UsageError) as caught:
            MiniLM(place, max_tokens=TOKENS)
        assert caught.value.hint == f"load it as local:{place}"
