"""Every benchmark in one run, written to RESULTS.md with the date and the processor.

    python benchmarks/run_all.py --corpus papers.jsonl.zst [--library FOLDER] [--peer-python PEERS/bin/python]

Without --library one is made from the corpus first, which encodes it (about 15 to 25 minutes for 86,000
abstracts on two cores). Without --peer-python the encoder's peers are left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent


def processor() -> str:
    """Name of the processor and what it has for matrices."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = set(facts.get("flags", "").split())
    shown = [f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_int8") if f in flags]
    return f"{facts.get('model name', platform.machine())} ({', '.join(shown) or 'no vector flags'})"


def run(*words: str) -> str:
    """Output of a benchmark; its errors are shown as they come."""
    done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--peer-python", default="")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        library = options.library
        if library is None:
            library = Path(temporary) / "library"
            for words in (["init"], ["add", str(options.corpus)], ["index"]):
                run("-m", "aspectra", *words, "--library", str(library))
        install = run(str(HERE / "bench_install.py"))
        search = run(str(HERE / "bench_search.py"), "--library", str(library))
        cold = run(str(HERE / "bench_cold.py"), "--library", str(library))
        add = run(str(HERE / "bench_add.py"))
        peers = ["--peer-python", options.peer_python] if options.peer_python else []
        run(
            str(HERE / "bench_encoder.py"),
            str(options.corpus),
            *peers,
            *("--peers", "sentence-transformers fp32", "onnxruntime fp32"),
            *("--texts", "128", "--turns", "3", "--out", temporary),
        )
        encoder = (Path(temporary) / "encoder.md").read_text("utf-8").removeprefix("# Encoder").strip()
        measures = run(str(HERE / "bench_measures.py"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    head = (
        "# Measured speed\n\n"
        "Made by `make bench`; every peer and every limit was measured in the same run.\n\n"
        f"- Date: {datetime.now(UTC):%Y-%m-%d}\n- Processor: {processor()}, {cores} cores\n"
        f"- Python {platform.python_version()}, {platform.system()}\n"
    )
    parts = [
        ("Search", search),
        ("Search in a new process", cold),
        ("Adding many files", add),
        ("Default encoder", encoder),
        ("Measures", measures),
        ("Install", install),
    ]
    options.out.write_text(head + "".join(f"\n## {title}\n\n{text}\n" for title, text in parts), "utf-8")
    print(options.out.read_text("utf-8"))


if __name__ == "__main__":
    main()
