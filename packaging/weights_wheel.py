"""Make ``aspectra-minilm``, a wheel of the default encoder's weights that requires nothing.

Usage: ``python packaging/weights_wheel.py OUT [--model FOLDER]``

``pip install aspectra aspectra_minilm-*.whl`` then needs no second step. The same files give the same bytes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from aspectra.views.encoders.minilm import find_model

VERSION = "1.0.0"
FILES = (
    *("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "modules.json"),
    *("sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"),
)
PROJECT = f"""\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "aspectra-minilm"
version = "{VERSION}"
description = "Weights of all-MiniLM-L6-v2, the default encoder of Aspectra: data only, no dependencies"
license = "Apache-2.0"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["aspectra_minilm"]
"""
ABOUT = '"""Weights of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), in the folder ``model``."""\n'


def make(model: Path, out: Path) -> Path:
    """The wheel, made in ``out`` of the model's files."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "aspectra_minilm"
        for name in FILES:
            target = package / "model" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(model / name, target)
        (package / "__init__.py").write_text(ABOUT, encoding="utf-8")
        (Path(folder) / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            str(out),
            folder,
        ]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1577836800"}  # 2020-01-01
        subprocess.run(command, check=True, env=environment)
    return next(out.glob(f"aspectra_minilm-{VERSION}-*.whl"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--model", type=Path, help="a folder with the model's files; default: the installed ones"
    )
    given = parser.parse_args()
    print(make(given.model or find_model(), given.out))
