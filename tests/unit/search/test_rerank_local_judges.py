"""Judges that ask no language model: transport between sentences, and cross-encoders."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra, NotTrusted, UsageError
from aspectra.base.trust import Permission, allow
from aspectra.search.rerank.judges import cross_encoder as module
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.stages.protocol import permissions_of
from aspectra.search.stages.rerank import Method, rerank
from aspectra.views.dense.matching import transport
from fake_encoder import FakeEncoder

TEXTS = {
    "owls": "Owls hunt at night. They hear mice.",
    "mice": "Mice hide. Owls hunt at night.",
    "ranks": "Documents are ranked. A model compares them.",
    "empty": " ",
}
QUESTION = Question("Owls hunt at night. They hear mice.")


def _run(method, papers, question=QUESTION):
    return asyncio.run(rerank(question, papers, Method.parse(method)))


@pytest.fixture
def encoder(monkeypatch):
    made = FakeEncoder()
    monkeypatch.setattr(module, "_encoder", {"fake": made}.__getitem__)
    return made


def test_transport_gives_the_scores_of_the_scorer(encoder):
    papers = [Candidate(name, text) for name, text in TEXTS.items()]
    result = _run("transport(encoder=fake)", papers)
    assert result.order[0] == "owls"
    assert set(result.order) == set(TEXTS)
    assert not result.tally.simulated
    sentences = ["Owls hunt at night.", "They hear mice."]
    vectors = encoder.encode(sentences).vectors
    rows = encoder.encode(["Mice hide.", "Owls hunt at night."]).vectors
    expected = float(transport(vectors, rows, np.array([0, 2])).scores[0])
    assert result.scores[result.order.index("mice")] == pytest.approx(expected, abs=1e-5)
    assert result.tally.repairs == 1  # the text without a sentence has no score


def test_a_cross_encoder_is_named_or_refused():
    with pytest.raises(UsageError, match="needs a model"):
        Method.parse("cross-encoder")
    assert str(Method.parse("cross-encoder(model=a/b)")) == "cross-encoder(model=a/b)+single"


@pytest.mark.usefixtures("home")
def test_models_that_a_plan_names_are_loaded_only_if_they_are_permitted():
    for method, needed in (
        ("cross-encoder(model=some/model)", "model:some/model"),
        ("transport(encoder='openai:m?base_url=http://127.0.0.1:1/v1')", "http://127.0.0.1:1"),
    ):
        with pytest.raises(NotTrusted) as caught:
            _run(method, [Candidate("a", "x"), Candidate("b", "y")])
        assert caught.value.hint.endswith(f"aspectra config trust {needed}")
        assert [str(one) for one in permissions_of([f'rerank(method="{method}")'])] == [needed]


@pytest.mark.usefixtures("home")
def test_without_torch_a_cross_encoder_says_what_to_install():
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        allow(Permission("model", "anything"))
        with pytest.raises(MissingExtra, match="torch"):
            _run("cross-encoder(model=anything)", [Candidate("a", "x"), Candidate("b", "y")])


@pytest.mark.usefixtures("home")
def test_a_cross_encoder_reads_query_and_text_together(tmp_path):
    allow(Permission.folder(str(tmp_path)))
    pytest.importorskip("sentence_transformers", reason="needs torch: pip install 'aspectra[torch]'")
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    torch.manual_seed(0)
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *sorted(set("owls hunt at night mice hide".split())),
    ]
    (tmp_path / "vocab.txt").write_text("\n".join(words), "utf-8")
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    papers = [Candidate(name, text) for name, text in TEXTS.items()]
    method = f"cross-encoder(model={tmp_path})"
    result = _run(method, papers, Question("owls hunt"))
    assert sorted(result.order) == sorted(TEXTS)
    assert all(score is not None for score in result.scores)
    instructed = _run(method, papers, Question("owls hunt", "at night"))
    assert instructed.scores != result.scores  # the instruction is read too
