"""Instructed models of the extra torch: decoders, mixtures of experts, T5; against computations by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny_models
from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import ENCODERS, Encoder, Kind
from tiny_models import needs_torch

TEXTS = ["dense retrieval", "owls hunt at night, and sleep by day.", "a"]
GRITLM = "template=gritlm&pooling=mean&include_prompt=no&attention=bidirectional"
PROMPTS = {"document": "<|embed|>\n", "query": "<|user|>\nfind surveys\n<|embed|>\n"}


def encoder(place: Path, options: str = "") -> Encoder:
    return ENCODERS.get("sentence-transformers")(f"{place}?{options}" if options else str(place))


def unit(rows: list[Any]) -> np.ndarray[Any, Any]:
    found = np.stack([row.float().numpy() for row in rows])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture(scope="module", autouse=True)
def _quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def decoder(folder: Path, family: str, **more: Any) -> Path:
    """A tiny decoder of a family of transformers; padded on the left unless said otherwise."""
    import torch
    import transformers

    words = tiny_models.tokenizer(pad=more.pop("pad", True), side=more.pop("side", "left"))
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=100,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=512,
        initializer_range=0.4,
        **{**tiny_models.SIZES, **more},
    )
    return tiny_models.save(folder, getattr(transformers, f"{family}Model")(config), words)


def _all_see_all(ids: Any) -> Any:
    import torch

    return torch.zeros(1, 1, ids.shape[1], ids.shape[1])


@needs_torch
@pytest.mark.parametrize(
    ("family", "side"), [("Mistral", "left"), ("Mistral", "right"), ("Qwen3", "left"), ("Llama", "right")]
)
@pytest.mark.parametrize("kind", ["query", "document"])
def test_a_mean_without_the_prompt_under_attention_both_ways(
    tmp_path: Path, family: str, side: str, kind: Kind
) -> None:
    folder = decoder(tmp_path / "model", family, side=side)
    made = encoder(folder, GRITLM)
    prompt = PROMPTS[kind]
    # A mask of our own, so that transformers' setting is_causal plays no part.
    states = tiny_models.states(folder, [prompt + text for text in TEXTS], attention_mask=_all_see_all)
    wanted = unit([rows[1 + len(prompt) :].mean(dim=0) for rows in states])
    found = made.encode(TEXTS, kind=kind, instruction="find surveys").vectors
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    for text, row in zip(TEXTS, found, strict=True):  # alone there is no padding
        alone = made.encode([text], kind=kind, instruction="find surveys").vectors[0]
        np.testing.assert_allclose(alone, row, atol=1e-5)
    for other in (GRITLM.replace("=no", "=yes"), GRITLM.replace("bidirectional", "causal")):
        changed = encoder(folder, other)
        assert changed.fingerprint != made.fingerprint
        rows = changed.encode(TEXTS, kind=kind, instruction="find surveys").vectors
        assert np.abs(rows - found).max() > 0.01


@needs_torch
@pytest.mark.parametrize("family", ["Mistral", "Qwen3"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("options", ["", "&pooling=lasttoken", "&pooling=lasttoken&attention=causal"])
def test_the_last_token_of_a_causal_decoder(tmp_path: Path, family: str, side: str, options: str) -> None:
    """As e5-mistral and Qwen3-Embedding; models that were made to write are pooled so by default."""
    folder = decoder(tmp_path / "model", family, side=side)
    if not options:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        config["architectures"] = [f"{family}ForCausalLM"]
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
    made = encoder(folder, f"template=e5-instruct{options}")
    asked = [f"Instruct: find surveys\nQuery: {text}" for text in TEXTS]
    for kind, texts in (("query", asked), ("document", TEXTS)):
        wanted = unit([rows[-1] for rows in tiny_models.states(folder, texts)])
        found = made.encode(TEXTS, kind=kind, instruction="find surveys").vectors
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@needs_torch
def test_a_decoder_without_a_padding_token_is_mean_pooled(tmp_path: Path) -> None:
    """As Mistral-7B-Instruct, which was trained for other things."""
    folder = decoder(tmp_path / "model", "Mistral", pad=False)
    found = encoder(folder, "pooling=mean").encode(TEXTS).vectors
    wanted = unit([rows.mean(dim=0) for rows in tiny_models.states(folder, TEXTS)])
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@needs_torch
def test_spans_of_a_decoder_leave_the_instruction_out(tmp_path: Path) -> None:
    folder = decoder(tmp_path / "model", "Mistral")
    made = encoder(folder, GRITLM)
    assert made.late_pooling
    whole = [[(0, len(text))] for text in TEXTS]
    found = made.encode(TEXTS, kind="query", instruction="find surveys", spans=whole)
    np.testing.assert_allclose(np.concatenate(found.spans), found.vectors, atol=1e-5)


@needs_torch
def test_an_attention_that_a_model_does_not_follow_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import LlamaConfig

    plain = LlamaConfig.__setattr__

    def deaf(self: Any, name: str, value: Any) -> None:  # as before transformers read is_causal
        if name != "is_causal":
            plain(self, name, value)

    decoder(tmp_path / "model", "Llama")
    with monkeypatch.context() as patch:
        patch.setattr(LlamaConfig, "__setattr__", deaf)
        with pytest.raises(UsageError, match="cannot be bidirectional"):
            encoder(tmp_path / "model", "attention=bidirectional")
    encoder(tmp_path / "model", "attention=bidirectional")
    folder = tiny_models.bert(tmp_path / "bert")
    np.testing.assert_allclose(
        encoder(folder, "attention=bidirectional").encode(TEXTS).vectors,
        encoder(folder).encode(TEXTS).vectors,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("attention=sideways", "attention"),
        ("pooling=median", "pooling"),
        ("include_prompt=maybe", "yes or no"),
    ],
)
def test_options_without_a_meaning_are_refused(tmp_path: Path, options: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        encoder(tmp_path, options)


# Mixtures of experts.


@needs_torch
def test_a_mixture_of_experts_is_routed_token_by_token(tmp_path: Path) -> None:
    """As GritLM-8x7B: a learned router gives each token to two of four experts."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = decoder(tmp_path / "model", "Mixtral", num_hidden_layers=1, num_local_experts=4)
    found = encoder(folder, GRITLM).encode(TEXTS, kind="document").vectors
    model, words = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    layer, rows, used = model.layers[0], [], set()
    with torch.no_grad():
        for text in TEXTS:
            ids = words(PROMPTS["document"] + text, return_tensors="pt")["input_ids"]
            x = model.embed_tokens(ids)
            turns = model.rotary_emb(x, torch.arange(ids.shape[1])[None])
            x = x + layer.self_attn(layer.input_layernorm(x), turns, _all_see_all(ids))[0]
            states = layer.post_attention_layernorm(x)[0]
            chances = torch.softmax(states @ layer.mlp.gate.weight.T, dim=-1)
            out = torch.zeros_like(states)
            for token, chance in enumerate(chances):
                best = chance.topk(2)
                for share, expert in zip(best.values / best.values.sum(), best.indices.tolist(), strict=True):
                    gate, up = (layer.mlp.experts.gate_up_proj[expert] @ states[token]).chunk(2)
                    down = layer.mlp.experts.down_proj[expert] @ (torch.nn.functional.silu(gate) * up)
                    out[token] += share * down
                    used.add(expert)
            rows.append(model.norm(x[0] + out)[1 + len(PROMPTS["document"]) :].mean(dim=0))
    assert len(used) > 2
    np.testing.assert_allclose(found, unit(rows), atol=1e-5)


# T5 encoders.


def t5(folder: Path) -> Path:
    import torch
    from transformers import T5Config, T5EncoderModel

    torch.manual_seed(0)
    config = T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    return tiny_models.save(folder, T5EncoderModel(config), tiny_models.tokenizer())


@needs_torch
@pytest.mark.parametrize("dense", [False, True])
def test_a_t5_encoder_pools_what_follows_its_instruction(tmp_path: Path, dense: bool) -> None:
    """As Instructor (its folder has a dense layer) and GTR."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import T5EncoderModel

    plain = t5(tmp_path / "plain")
    folder, weight = plain, torch.eye(32)
    if dense:
        parts = [Transformer(str(plain)), Pooling(32)]
        layer = Dense(32, 16, bias=False, activation_function=torch.nn.Identity())
        SentenceTransformer(modules=[*parts, layer], device="cpu").save(str(tmp_path / "saved"))
        folder, weight = tmp_path / "saved", layer.linear.weight.detach()
    made = encoder(folder, "template=instructor&include_prompt=no")
    asked = "Represent it: "
    ids = tiny_models.tokenizer()
    with torch.no_grad():
        states = [
            T5EncoderModel.from_pretrained(plain)
            .eval()(ids(asked + text, return_tensors="pt")["input_ids"])
            .last_hidden_state[0]
            for text in TEXTS
        ]
    wanted = unit([weight @ rows[1 + len(asked) :].mean(dim=0) for rows in states])
    for kind in ("query", "document"):
        found = made.encode(TEXTS, kind=kind, instruction=asked).vectors
        np.testing.assert_allclose(found, wanted, atol=1e-5)


# Code of a model's own.


@needs_torch
def test_code_that_a_configuration_names_is_neither_run_nor_passed_over_unasked(tmp_path: Path) -> None:
    folder = decoder(tmp_path / "model", "Mistral")
    plain = shutil.copytree(folder, tmp_path / "plain")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["auto_map"] = {"AutoModel": "modeling_own.OwnModel"}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "modeling_own.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n", "utf-8")
    with pytest.raises(UsageError, match="code of the model") as caught:
        encoder(folder)
    assert "trust_remote_code=no" in (caught.value.hint or "")
    made = encoder(folder, "trust_remote_code=no")
    np.testing.assert_allclose(made.encode(TEXTS).vectors, encoder(plain).encode(TEXTS).vectors, atol=1e-6)
    assert not (tmp_path / "run").exists()


@needs_torch
def test_a_model_that_needs_its_code_is_not_run_with_weights_left_at_random(tmp_path: Path) -> None:
    """As nomic-embed-text-v2-moe and Jina v2: the class of transformers has other weights."""
    from safetensors.torch import load_file, save_file

    folder = decoder(tmp_path / "model", "Mistral")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["auto_map"] = {"AutoModel": "modeling_own.OwnModel"}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    weights = load_file(folder / "model.safetensors")
    renamed = {name.replace("mlp.up_proj", "mlp.expert.up_proj"): one for name, one in weights.items()}
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UsageError, match="weights left at random") as caught:
        encoder(folder, "trust_remote_code=no")
    assert "mlp.up_proj" in (caught.value.why or "")
