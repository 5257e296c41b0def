"""Writes local.json: vectors of sentence-transformers for the models of ``tests/folder_models.py``.

Run from the repository with an interpreter that has the extra ``torch``:

    PYTHONPATH=src:tests python tests/golden/make_local.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from folder_models import MODELS, TEXTS, write_model

PLACE = Path(__file__).parent / "local.json"
KINDS = ("query", "document")


def reference(folder: Path) -> dict[str, Any]:
    """Vectors of sentence-transformers in float32: kind -> (texts, dimensions), as the model leaves them."""
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32}
    )
    runs = {"query": model.encode_query, "document": model.encode_document}
    if model.default_prompt_name:  # which these two leave out
        runs = dict.fromkeys(KINDS, model.encode)
    # One by one: the models are of random numbers, and padding may round a state differently.
    return {
        kind: [run(text, show_progress_bar=False).tolist() for text in TEXTS] for kind, run in runs.items()
    }


def main() -> None:
    import sentence_transformers
    import torch
    import transformers

    found: dict[str, Any] = {
        "made with": {
            "sentence-transformers": sentence_transformers.__version__,
            "transformers": transformers.__version__,
            "torch": torch.__version__,
        }
    }
    with tempfile.TemporaryDirectory() as place:
        for name, model in MODELS.items():
            vectors = reference(write_model(Path(place) / name, model))
            found[name] = {
                kind: [[float(f"{value:.6g}") for value in row] for row in vectors[kind]] for kind in KINDS
            }
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    PLACE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
