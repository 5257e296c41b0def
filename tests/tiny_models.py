"""Tiny models with random weights, in folders; they need torch and transformers (extra ``torch``)."""

from __future__ import annotations

import importlib.util
import string
from pathlib import Path
from typing import Any

import pytest

LETTERS = [*string.ascii_letters, *string.digits, *" \n.,:;<>|{}_-'?"]
NEEDS = ("torch", "sentence_transformers", "peft")
needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDS),
    reason="models need torch, sentence-transformers and peft: pip install 'aspectra[torch]'",
)
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}


def tokenizer(*, pad: bool = True, side: str = "right") -> Any:
    """One token a character, <s> in front; without a padding token where ``pad`` is False."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<s>", "</s>", "<pad>", *LETTERS]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    if pad:
        special["pad_token"] = "<pad>"
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=512, padding_side=side, **special)


def save(folder: Path, model: Any, words: Any) -> Path:
    """A plain transformers folder."""
    model.eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def bert(folder: Path, seed: int = 0) -> Path:
    """A BERT encoder."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    made = BertModel(BertConfig(vocab_size=100, max_position_embeddings=512, initializer_range=0.4, **SIZES))
    return save(folder, made, tokenizer())


def lora(model: Path, folder: Path, seed: int, **more: Any) -> Path:
    """A LoRA adapter with random weights."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel

    torch.manual_seed(seed)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value"], init_lora_weights=False, **more)
    get_peft_model(AutoModel.from_pretrained(model), config).save_pretrained(folder)
    return folder


def states(folder: Path, texts: list[str], **more: Any) -> list[Any]:
    """Last states of each text alone, (tokens, width), by plain transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, words = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        found = []
        for text in texts:
            ids = words(text, return_tensors="pt")["input_ids"]
            found.append(model(input_ids=ids, **{k: v(ids) for k, v in more.items()}).last_hidden_state[0])
        return found
