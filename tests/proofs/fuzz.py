"""Fuzzes the targets of ``targets.py``: ``python tests/proofs/fuzz.py --seconds 60 --target bibtex``.

With atheris the coverage of the package guides the search; without it, a seeded generator mutates inputs.
They begin with the files of ``corpus/TARGET`` and the fragments below. What makes a target fail is put in
``--faults``, and the exit code is 1.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from summary import Summary, arguments

CORPUS = HERE / "corpus"
LONGEST = 4096  # bytes of an input
SLOWEST = 20  # seconds of one input before it counts as a fault
FRAGMENTS = [
    *(b"@article{k, title={T}, author={A, B}}", b"@string{a = b # c}", b"TY  - JOUR\nTI  - T\nER  - \n"),
    *(
        b"PMID- 1\nTI  - T\n",
        b'{"id": "a", "title": "T"}\n',
        b'[{"id": 1}, ',
        b"<article><body><p>t</p></body>",
    ),
    *(b"<TEI><text/></TEI>", b"---\ntitle: T\n---\n# H\n", b"%PDF-1.4\n1 0 obj\n<< /Type /Page >>\nendobj\n"),
    *(b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"BZh9", b"\xfd7zXZ\x00", b"\xff\xfe", b"\xef\xbb\xbf"),
    *(
        b"bm25 | top(200)",
        b"avoid kind=survey",
        b"[A] > [B]",
        b"\\cite{a}",
        b"$x$",
        b"{\\'e}",
        b"\x00",
        b"\n\n",
    ),
    *(
        b"1e999",
        b"-1",
        b"9" * 30,
        b"null",
        b"true",
        b'"\\ud800"',
        b"{{",
        b"}}",
        b"[[",
        b"\xc3\x28",
        b"10.1000/x",
    ),
]


def seeds(name: str) -> list[bytes]:
    """The inputs to begin with."""
    folder = CORPUS / name
    kept = [file.read_bytes() for file in sorted(folder.iterdir())] if folder.is_dir() else []
    return [*kept, *FRAGMENTS]


def mutate(known: list[bytes], generator: random.Random) -> bytes:
    """One of the inputs, changed in one to six places."""
    data = bytearray(generator.choice(known))
    for _ in range(generator.randint(1, 6)):
        at = generator.randrange(len(data) + 1)
        match generator.randrange(6):
            case 0:
                data[at:at] = generator.choice(FRAGMENTS)
            case 1:
                del data[at : at + generator.randint(1, 20)]
            case 2 if data:
                data[at % len(data)] ^= 1 << generator.randrange(8)
            case 3:
                data[at:at] = data[at : at + generator.randint(1, 60)] * generator.randint(1, 8)
            case 4:
                other = generator.choice(known)
                data[at:] = other[generator.randrange(len(other) + 1) :]
            case _:
                data[at:at] = generator.randbytes(generator.randint(1, 4))
    return bytes(data[:LONGEST])


def keep(data: bytes, faults: Path, name: str) -> None:
    """Write an input that made a target fail."""
    faults.mkdir(parents=True, exist_ok=True)
    (faults / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)


def by_mutation(name: str, seconds: float, seed: int, faults: Path) -> tuple[int, int]:
    """Run mutated inputs; returns how many there were, and kinds of faults."""
    from targets import TARGETS

    target, known = TARGETS[name], seeds(name)
    generator = random.Random(f"{seed} {name}")
    end, count, kinds = time.monotonic() + seconds, 0, dict[str, bytes]()

    def late(*_: object) -> None:
        raise TimeoutError(f"one input took more than {SLOWEST} s")

    signal.signal(signal.SIGALRM, late)
    inputs = [*known]
    while inputs or time.monotonic() < end:
        data = inputs.pop() if inputs else mutate(known, generator)
        count += 1
        signal.alarm(SLOWEST)
        try:
            target(data)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} at {where.filename.rpartition('/')[2]}:{where.lineno}: {error}"
            if kind not in kinds:
                kinds[kind] = data
                keep(data, faults, name)
                print(f"{name}: {kind[:200]}\n  {data[:120]!r}")
        finally:
            signal.alarm(0)
    return count, len(kinds)


def by_coverage(name: str, seconds: float, seed: int, faults: Path) -> tuple[int, int]:
    """Run atheris in a process of its own, which a fault ends; returns inputs, and 1 for a fault."""
    faults.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={int(seconds)}",
        f"-seed={seed}",
        f"-max_len={LONGEST}",
        f"-timeout={SLOWEST}",
    ]
    options += [f"-artifact_prefix={faults}/{name}-", "-rss_limit_mb=1500", "-print_final_stats=1"]
    work = faults / f"corpus-{name}"
    work.mkdir(exist_ok=True)
    for data in seeds(name):
        (work / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    command = [sys.executable, __file__, "--inside", name, *options, str(work)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    told = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line or "==" in line]
    count = next((int(line.split()[-1]) for line in told if "executed_units" in line), 0)
    if done.returncode:
        print(done.stdout[-2000:] + done.stderr[-3000:])
    return count, int(done.returncode != 0)


def inside(name: str, options: list[str]) -> None:
    """What the process of atheris does."""
    import atheris

    with atheris.instrument_imports(include=["aspectra"]):
        from targets import TARGETS
    target: Callable[[bytes], None] = TARGETS[name]
    atheris.Setup([sys.argv[0], *options], target)
    atheris.Fuzz()


def main() -> int:
    """Run the targets one after another."""
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
        return 0
    parser = arguments("Feed readers and parsers with inputs made to break them.")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--target", help="one of them; all when left out")
    parser.add_argument(
        "--faults", type=Path, default=Path("fuzz-faults"), help="folder for inputs that fail"
    )
    parser.add_argument("--mutation", action="store_true", help="do not use atheris")
    given = parser.parse_args()
    from targets import TARGETS

    guided = not given.mutation and importlib.util.find_spec("atheris") is not None
    run = by_coverage if guided else by_mutation
    os.environ.setdefault("ASPECTRA_OFFLINE", "1")
    names = [given.target] if given.target else list(TARGETS)
    proof = Summary("fuzz", given.seed)
    proof.fact("guided by coverage", guided)
    for name in names:
        count, faults = run(name, given.seconds, given.seed, given.faults)
        proof.count(name, "inputs", count)
        proof.count(name, "faults", 0)
        for _ in range(faults):
            proof.broken(name, "faults", f"see {given.faults}")
    return proof.finish(given.record)


if __name__ == "__main__":
    sys.exit(main())
