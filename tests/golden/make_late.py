"""Writes late.json: vectors and MaxSim of the models of ``tests/late_models.py``, by hand in torch.

Run from the repository with an interpreter that has the extra ``torch``:

    PYTHONPATH=src:tests python tests/golden/make_late.py
"""

from __future__ import annotations

import json
import string
import tempfile
from pathlib import Path
from typing import Any

from late_models import (
    DOCUMENT_LENGTH,
    DOCUMENT_MARKER,
    DOCUMENTS,
    FORMS,
    QUERIES,
    QUERY_LENGTH,
    QUERY_MARKER,
    write_late_model,
)

PLACE = Path(__file__).parent / "late.json"


def reference(folder: Path, form: str) -> dict[str, Any]:
    """Vectors of each query and document, and each query's MaxSim with each document; float32."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    held = folder / ("model.safetensors" if form == "original" else "1_Dense/model.safetensors")
    projection = load_file(str(held))["linear.weight"]
    words = string.punctuation if form == "original" else ".,!"
    skipped = {tokenizer.convert_tokens_to_ids(word) for word in words} - {tokenizer.unk_token_id}

    def vectors(text: str, query: bool) -> Any:
        length = QUERY_LENGTH if query else DOCUMENT_LENGTH
        ids = tokenizer(text, truncation=True, max_length=length - 1)["input_ids"]
        ids.insert(1, tokenizer.convert_tokens_to_ids(QUERY_MARKER if query else DOCUMENT_MARKER))
        attention = [1] * len(ids)
        if query and "unexpanded" not in form:
            more = length - len(ids)
            ids += [tokenizer.mask_token_id] * more
            attention += [int("attended" in form)] * more
        with torch.no_grad():
            states = model(
                input_ids=torch.tensor([ids]), attention_mask=torch.tensor([attention])
            ).last_hidden_state[0]
        projected = torch.nn.functional.normalize(states @ projection.T, dim=-1)
        return projected if query else projected[[number not in skipped for number in ids]]

    queries = [vectors(text, True) for text in QUERIES]
    documents = [vectors(text, False) for text in DOCUMENTS]
    return {
        "query": [one.tolist() for one in queries],
        "document": [one.tolist() for one in documents],
        "maxsim": [[float((q @ d.T).max(dim=1).values.sum()) for d in documents] for q in queries],
    }


def main() -> None:
    import torch
    import transformers

    found: dict[str, Any] = {
        "made with": {"transformers": transformers.__version__, "torch": torch.__version__}
    }
    with tempfile.TemporaryDirectory() as place:
        for form in FORMS:
            found[form] = reference(write_late_model(Path(place) / form.replace(" ", "-"), form), form)
    lines = [f" {json.dumps(name)}: {json.dumps(_short(value))}" for name, value in found.items()]
    PLACE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(one) for one in value]
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    return float(f"{value:.7g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
