"""The default encoder, on a small random model: the graph, pooling, spans, caches and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.views.encoders import query_encoder as remembering
from aspectra.views.encoders.minilm import MiniLM, find_model, make
from aspectra.views.encoders.protocol import pool_spans, split_argument, unit_rows
from aspectra.views.encoders.transformer.network import Runtime, batches, step_of
from aspectra.views.encoders.transformer.weights import read_weights

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "a",
    "cafe",
    "graph",
    "neural",
    "##s",
    "of",
    ".",
    ",",
    "search",
]
LAYERS, HEADS, WIDTH, INNER, PLACES = 2, 2, 16, 32, 40


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ASPECTRA_MINILM_DIR", raising=False)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(1)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{prefix}attention.{name}.weight"] = (WIDTH, WIDTH)
            shapes[f"{prefix}attention.{name}.bias"] = (WIDTH,)
        shapes[f"{prefix}intermediate.dense.weight"] = (INNER, WIDTH)
        shapes[f"{prefix}intermediate.dense.bias"] = (INNER,)
        shapes[f"{prefix}output.dense.weight"] = (WIDTH, INNER)
        shapes[f"{prefix}output.dense.bias"] = (WIDTH,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{prefix}{name}.weight"] = (WIDTH,)
            shapes[f"{prefix}{name}.bias"] = (WIDTH,)
    tensors = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    save_file(tensors, place / "model.safetensors")
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": WIDTH,
        "max_position_embeddings": PLACES,
        "layer_norm_eps": 1e-12,
    }
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    _tokenizer().save(str(place / "tokenizer.json"))
    return place


def _small(folder: Path, **options: Any) -> MiniLM:
    return MiniLM(folder, **{"max_tokens": PLACES, "dtype": "f32", "threads": 2, **options})


def _reference(folder: Path, ids: list[int]) -> np.ndarray[Any, Any]:
    """BERT in plain numpy, float64: (tokens, dimensions)."""
    w = {
        name: tensor.astype(np.float64) for name, tensor in read_weights(folder / "model.safetensors").items()
    }

    def norm(x: Any, name: str) -> Any:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[name + ".weight"] + w[name + ".bias"]

    def linear(x: Any, name: str) -> Any:
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        p = f"encoder.layer.{layer}."
        size = WIDTH // HEADS
        q, k, v = (
            linear(x, p + f"attention.self.{n}").reshape(len(ids), HEADS, size).swapaxes(0, 1)
            for n in ("query", "key", "value")
        )
        scores = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(size))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), WIDTH)
        x = norm(x + linear(mixed, p + "attention.output.dense"), p + "attention.output.LayerNorm")
        h = linear(x, p + "intermediate.dense")
        h = 0.5 * h * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
        x = norm(x + linear(h, p + "output.dense"), p + "output.LayerNorm")
    return x


def _unit(x: Any) -> Any:
    return x / np.linalg.norm(x)


TEXT = "The neural graphs, the café. Search of a graph."


def test_graph_and_pooling_equal_a_plain_numpy_model(folder: Path) -> None:
    texts = [TEXT, "graph", "", "neural search " * 10]
    result = _small(folder).encode(texts)
    tokenizer = _tokenizer()
    for text, vector in zip(texts, result.vectors, strict=True):
        states = _reference(folder, tokenizer.encode(text).ids)
        np.testing.assert_allclose(vector, _unit(states.mean(axis=0)), atol=1e-4)


def test_spans_equal_brute_force(folder: Path) -> None:
    spans = [
        (0, 28),
        (29, 47),
        (4, 9),
        (6, 7),
        (0, len(TEXT)),
        (28, 29),
        (9, 9),
        (40, 10),
        (100, 200),
        (13, 19),
    ]
    rows = _small(folder).encode([TEXT], spans=[spans]).spans[0]
    encoding = _tokenizer().encode(TEXT)
    states = _reference(folder, encoding.ids)
    for (start, end), row in zip(spans, rows, strict=True):
        inside = [
            state
            for state, (a, b), special in zip(
                states, encoding.offsets, encoding.special_tokens_mask, strict=True
            )
            if not special and a < end and b > start and start < end
        ]
        expected = _unit(np.mean(inside, axis=0)) if inside else np.zeros(WIDTH)
        np.testing.assert_allclose(row, expected, atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_pool_spans_equals_brute_force_on_random_runs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, 30)  # empty ranges stand for special tokens, here also in the middle
    ends = np.cumsum(lengths + rng.integers(0, 2, 30))
    offsets = np.stack([ends - lengths, ends], axis=1)
    states = rng.normal(size=(30, 8)).astype(np.float32)
    spans = [tuple(map(int, sorted(rng.integers(0, ends[-1] + 5, 2)))) for _ in range(25)]
    found = pool_spans(states, offsets, spans)
    for (start, end), row in zip(spans, found, strict=True):
        inside = (offsets[:, 0] < end) & (offsets[:, 1] > start) & (lengths > 0) & (start < end)
        expected = _unit(states[inside].mean(axis=0)) if inside.any() else np.zeros(8)
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_offsets_are_characters_not_bytes(folder: Path) -> None:
    encoder = _small(folder)
    text = "🙂🙂 漢字 the cafe\u0301 𝔛 graph"
    start = text.index("graph")
    here = encoder.encode([text], spans=[[(start, start + 5)]]).spans[0][0]
    ids = _tokenizer().encode(text).ids
    at = [index for index, token in enumerate(ids) if WORDS[token] == "graph"]
    assert len(at) == 1
    np.testing.assert_allclose(here, _unit(_reference(folder, ids)[at[0]]), atol=1e-4)
    broken = "\ud800\udfff the graph"  # lone surrogates keep their place
    rows = encoder.encode([broken], spans=[[(7, 12), (3, 6)]]).spans[0]
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1], abs=1e-5)


def test_cut_texts_are_flagged_and_spans_beyond_are_zeros(folder: Path) -> None:
    encoder = _small(folder, max_tokens=10)
    fits, cut = "graph " * 8, "graph " * 9
    result = encoder.encode([fits, cut], spans=[[(0, 6), (42, 47)], [(0, 6), (48, 53)]])
    assert result.truncated.tolist() == [False, True]
    np.testing.assert_allclose(result.vectors[0], result.vectors[1], atol=1e-6)
    assert np.linalg.norm(result.spans[0], axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert np.linalg.norm(result.spans[1], axis=1) == pytest.approx([1, 0], abs=1e-5)


def test_order_and_company_do_not_matter(folder: Path) -> None:
    encoder = _small(folder)
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS[4:], size)) for size in rng.integers(0, 45, 120)]
    one = encoder.encode(texts).vectors
    order = rng.permutation(len(texts))
    other = encoder.encode([texts[index] for index in order]).vectors
    np.testing.assert_allclose(other, one[order], atol=1e-5)
    alone = np.concatenate([encoder.encode([text]).vectors for text in texts[:20]])
    np.testing.assert_allclose(alone, one[:20], atol=1e-5)


def test_bf16_stays_close_where_the_processor_has_it(folder: Path) -> None:
    openvino = pytest.importorskip("openvino")
    if "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        pytest.skip("this processor has no bf16")
    half = _small(folder, dtype="bf16")
    full = _small(folder)
    assert half.fingerprint == full.fingerprint
    cosine = np.sum(half.encode([TEXT]).vectors * full.encode([TEXT]).vectors)
    assert cosine > 0.995  # a model of 16 dimensions rounds worse than one of 384


def test_the_choice_of_number_type_is_remembered_and_survives_damage(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = _small(folder, dtype="auto").runtime.dtype
    assert first in {"f32", "bf16"}
    for entry in cache.glob("*.json"):
        entry.write_bytes(entry.read_bytes()[:-20])
    again = _small(folder, dtype="auto")
    assert again.runtime.dtype in {"f32", "bf16"}
    assert again.encode([TEXT]).vectors.shape == (1, WIDTH)


def test_an_unwritable_cache_is_no_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("ASPECTRA_CACHE_DIR", str(blocked / "cache"))
    assert _small(folder, dtype="auto").encode([TEXT]).vectors.shape == (1, WIDTH)


def test_remembered_facts_need_their_own_key() -> None:
    remembering.remember({"a": 1}, {"x": 2})
    assert remembering.recall({"a": 1}) == {"x": 2}
    assert remembering.recall({"a": 2}) is None
    entry = next(remembering.cache_dir().glob("*.json"))
    entry.write_text(json.dumps({"key": {"a": 9}, "value": {"x": 2}}), encoding="utf-8")
    assert remembering.recall({"a": 1}) is None


def test_fingerprint_follows_what_moves_vectors(folder: Path, tmp_path: Path) -> None:
    import shutil

    plain = _small(folder)
    assert _small(folder, max_tokens=12).fingerprint != plain.fingerprint
    assert _small(folder, threads=1).fingerprint == plain.fingerprint
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert _small(copy).fingerprint == plain.fingerprint
    weights = copy / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    assert _small(copy).fingerprint != plain.fingerprint


def test_the_folder_is_found_or_the_command_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_model(str(folder)) == folder
    monkeypatch.setenv("ASPECTRA_MINILM_DIR", str(folder))
    assert find_model() == folder
    with pytest.raises(UsageError, match="missing: model"):
        find_model(str(tmp_path))
    monkeypatch.delenv("ASPECTRA_MINILM_DIR")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *a, **k: str(tmp_path / "data"))
    with pytest.raises(MissingExtra) as caught:
        find_model()
    assert caught.value.hint == "aspectra setup"


def test_damaged_files_are_named(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    for cut in (0, 5, 100, len(whole) - 100):
        path = tmp_path / "model.safetensors"
        path.write_bytes(whole[:cut])
        with pytest.raises(UsageError, match="cannot read the weights"):
            read_weights(path)


@pytest.mark.parametrize(
    "argument", ["?max_tokens=0", "?max_tokens=many", "?max_tokens=41", "?dtype=f16", "?colour=red", "?dtype"]
)
def test_arguments_that_mean_nothing(folder: Path, argument: str) -> None:
    with pytest.raises(UsageError):
        make(f"{folder}{argument}" + ("" if "max_tokens" in argument else "&max_tokens=8")).encode(["x"])


def test_name_says_an_unusual_length(folder: Path) -> None:
    assert make(f"{folder}?max_tokens=12").name == "minilm-12"


def test_other_pooling_is_refused(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "1_Pooling").mkdir()
    config = copy / "1_Pooling" / "config.json"
    config.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    with pytest.raises(UsageError, match="pooling"):
        _small(copy)


def test_batches_hold_every_text_once_within_the_budget() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 513, 1000).tolist()
    groups = list(batches(lengths, 512, 600))
    assert sorted(index for group in groups for index in group) == list(range(1000))
    for group in groups:
        width = step_of(max(lengths[index] for index in group), 512)
        assert len(group) == 1 or width * len(group) <= 600
        assert min(lengths[index] for index in group) > width - 8


def test_a_vector_does_not_depend_on_the_texts_beside_it(folder: Path) -> None:
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(TEXT.split(), rng.integers(1, 12))) for _ in range(60)]
    spans = [[(0, len(text) // 2), (len(text) // 2, len(text))] for text in texts]
    encoder = _small(folder)
    whole = encoder.encode(texts, spans=spans)
    for _ in range(4):
        order = rng.permutation(len(texts))
        for part in np.split(order, np.sort(rng.choice(60, 7, replace=False))):
            some = encoder.encode([texts[i] for i in part], spans=[spans[i] for i in part])
            for row, i in enumerate(part):
                assert some.vectors[row].tobytes() == whole.vectors[i].tobytes()
                assert some.spans[row].tobytes() == whole.spans[i].tobytes()


@pytest.mark.parametrize("kind", ["document", "query"])
def test_batches_of_one_length_have_one_shape(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    shapes: dict[int, set[int]] = {}
    graphs = set()
    make, compile_ = Runtime._inputs, Runtime._compile

    def inputs(self: Runtime, *given: Any) -> Any:
        made = make(self, *given)
        rows, width = made[1].shape
        shapes.setdefault(width, set()).add(rows)
        return made

    def compiled(self: Runtime, dtype: str, bulk: bool) -> Any:
        graphs.add((dtype, bulk))
        return compile_(self, dtype, bulk)

    monkeypatch.setattr(Runtime, "_inputs", inputs)
    monkeypatch.setattr(Runtime, "_compile", compiled)
    encoder = _small(folder)
    for count in (1, 2, 7, 80):
        encoder.encode([TEXT, "the"] * count, kind=kind)
    assert len(shapes) == 2
    assert all(len(rows) == 1 for rows in shapes.values())
    assert graphs == {("f32", kind == "document")}


def test_arguments() -> None:
    assert split_argument("a/b?x=1%202&y=c+d\\n", ["x", "y"], encoder="e") == (
        "a/b",
        {"x": "1 2", "y": "c+d\n"},
    )
    with pytest.raises(UsageError, match="twice"):
        split_argument("?x=1&x=2", ["x"], encoder="e")


def test_unit_rows_leaves_zeros() -> None:
    rows = unit_rows(np.array([[0, 0], [0, 5]], dtype=np.float32))
    assert rows.tolist() == [[0, 0], [0, 1]]
