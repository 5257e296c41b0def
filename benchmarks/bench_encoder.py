"""How quick is the default encoder, how close to its reference, and how far from the machine's limit?

    python benchmarks/bench_encoder.py CORPUS.jsonl[.zst] --peer-python PEERS/bin/python --out results

The corpus has one JSON object a line with ``title`` and ``abstract``. The peers run in another interpreter
(sentence-transformers and torch; onnxruntime and onnx are optional), so that neither side's libraries
disturb the other. Systems take turns; of each the quickest turn counts. Writes encoder.json and encoder.md.
With ``--model FOLDER`` another encoder is measured, as ``local:FOLDER`` loads it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from aspectra.views.encoders.local import load_folder
from aspectra.views.encoders.minilm import MiniLM, find_model
from aspectra.views.encoders.transformer.encoder import TransformerEncoder
from aspectra.views.encoders.transformer.network import available_cores
from aspectra.views.encoders.transformer.weights import Shape

# Run by the other interpreter: reads {system, model, texts, length, threads, out}, prints seconds.
PEER = """
import json, sys, time
import numpy as np
job = json.load(open(sys.argv[1], encoding="utf-8"))
texts, length, name = job["texts"], job["length"], job["system"]
import torch
torch.set_num_threads(job["threads"])
from sentence_transformers import SentenceTransformer
import sentence_transformers, transformers
transformers.logging.disable_progress_bar()
versions = f"sentence-transformers {sentence_transformers.__version__}, torch {torch.__version__}"
dtype = {"dtype": torch.bfloat16} if name.endswith("bf16") else {}
model = SentenceTransformer(job["model"], device="cpu", model_kwargs=dtype)
model.max_seq_length = length
if name.startswith("onnxruntime"):
    import onnxruntime
    versions = f"onnxruntime {onnxruntime.__version__}"
    class Plain(torch.nn.Module):
        def __init__(self, bert):
            super().__init__()
            self.bert = bert
        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
    axes = {"ids": {0: "b", 1: "t"}, "mask": {0: "b", 1: "t"}, "states": {0: "b", 1: "t"}}
    sample = (torch.ones(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long))
    path = job["out"] + ".onnx"
    torch.onnx.export(Plain(model[0].auto_model.eval()), sample, path, input_names=["ids", "mask"],
                      output_names=["states"], dynamic_axes=axes, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    width = model.get_embedding_dimension()
    def encode(texts):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        out = np.zeros((len(texts), width), dtype=np.float32)
        for start in range(0, len(order), 32):
            part = order[start:start + 32]
            tokens = model.tokenizer([texts[i] for i in part], padding=True, truncation=True,
                                     max_length=length, return_tensors="np")
            mask = tokens["attention_mask"].astype(np.int64)
            states = session.run(None, {"ids": tokens["input_ids"].astype(np.int64), "mask": mask})[0]
            mean = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
            out[part] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return out
else:
    def encode(texts):
        vectors = model.encode(texts, batch_size=32, normalize_embeddings=True, convert_to_tensor=True)
        return vectors.float().numpy()
encode(texts[:32])
start = time.perf_counter()
vectors = encode(texts)
seconds = time.perf_counter() - start
np.save(job["out"], vectors)
print(json.dumps({"seconds": seconds, "versions": versions}))
"""

COLD = """
import json, time
t = [time.perf_counter()]
from aspectra.views.encoders.protocol import ENCODERS
encoder = ENCODERS.get({family!r})({place!r})
t.append(time.perf_counter())
from aspectra.views.encoders.transformer.weights import import_openvino
import_openvino()
import tokenizers
t.append(time.perf_counter())
encoder.tokens.tokenizer, encoder.runtime._network
t.append(time.perf_counter())
encoder.runtime._compile(encoder.runtime.dtype, False)
t.append(time.perf_counter())
encoder.encode(["instruction following retrieval for scientific literature"], kind="query")
t.append(time.perf_counter())
names = ["our import and hashes", "import openvino, tokenizers", "tokenizer and weights", "compile"]
names.append("first query")
print(json.dumps(dict(zip(names, (b - a for a, b in zip(t, t[1:]))))))
"""


def read_texts(path: Path, count: int) -> list[str]:
    from aspectra.papers.sources.files import read_text

    papers = [json.loads(line) for line in read_text(path)[0].splitlines()[:count]]
    return [f"{paper['title']}. {paper['abstract']}" for paper in papers]


def best(function: Callable[[], Any], times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the quickest of several calls."""
    seconds = []
    for _ in range(times):
        start = clock()
        function()
        seconds.append(clock() - start)
    return min(seconds)


def sgemm_limit(size: int = 2048) -> float:
    """GFLOP/s of a float32 matrix product in numpy."""
    a = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    return 2 * size**3 / best(lambda: a @ a, 4) / 1e9


def matmul_limit(dtype: str, threads: int, size: int = 2048) -> float:
    """GFLOP/s of one matrix product with constant weights in OpenVINO."""
    from aspectra.views.encoders.transformer.weights import import_openvino

    ov = import_openvino()
    op = ov.opset13

    a = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    x = op.parameter([size, size], np.float32)
    model = ov.Model([op.result(op.matmul(x, op.constant(a), False, True))], [x], "limit")
    config = {"INFERENCE_PRECISION_HINT": dtype, "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    request = ov.Core().compile_model(model, "CPU", config).create_infer_request()
    return 2 * size**3 / best(lambda: request.infer([a], share_inputs=True), 5) / 1e9


def flops(shape: Shape, inner: int, tokens: np.ndarray[Any, Any]) -> float:
    """Multiply-adds counted twice, summed over texts: projections and feed-forward, scores and mixing."""
    d = shape.dimensions
    products = 3 if shape.family == "modernbert" else 2  # one more for the gates
    per_token = 2 * shape.layers * (4 * d * d + products * d * inner)
    attention = 4 * shape.layers * d
    return float((per_token * tokens + attention * tokens.astype(np.float64) ** 2).sum())


def processor() -> dict[str, str]:
    name, flags = platform.processor(), ""
    if Path("/proc/cpuinfo").is_file():
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            if key.strip() == "flags":
                wanted = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
                flags = " ".join(flag for flag in wanted if flag in value.split())
    return {"processor": name, "flags": flags, "system": platform.platform(terse=True)}


def run_peer(python: str, job: dict[str, Any], folder: Path) -> tuple[dict[str, Any], Any]:
    """One turn of a peer; ({"seconds", "versions"}, vectors), or ({"failed": reason}, None)."""
    request, script = folder / "job.json", folder / "peer.py"
    job["out"] = str(folder / "vectors.npy")
    request.write_text(json.dumps(job), encoding="utf-8")
    script.write_text(PEER, encoding="utf-8")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}
    done = subprocess.run(
        [python, str(script), str(request)], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1][:160]}, None
    return json.loads(done.stdout.strip().splitlines()[-1]), np.load(job["out"])


def _load() -> float | None:
    """Mean number of runnable processes in the last minute: above 0 at the start, others compete."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def ours(arguments: argparse.Namespace, dtype: str, length: int, threads: int) -> TransformerEncoder:
    """The default encoder, or the one in the folder that was asked for."""
    if not arguments.model:
        return MiniLM(find_model(), max_tokens=length, dtype=dtype, threads=threads)
    options = {"max_tokens": str(length), "dtype": dtype, "threads": str(threads)}
    return load_folder(arguments.model, options)


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    load = _load()
    texts = read_texts(arguments.corpus, arguments.texts)
    model = Path(arguments.model) if arguments.model else find_model()
    family = "local" if arguments.model else "minilm"
    threads = arguments.threads or available_cores()
    shape = Shape.read(model)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    inner = config.get("intermediate_size") or config["hidden_dim"]
    rows: list[dict[str, Any]] = []
    systems = [f"aspectra {family} {dtype}" for dtype in arguments.dtypes]
    systems += arguments.peers if arguments.peer_python else []
    for length in arguments.lengths:
        seconds: dict[str, list[float]] = {name: [] for name in systems}
        vectors: dict[str, Any] = {}
        notes: dict[str, str] = {}
        encoders = {
            f"aspectra {family} {dtype}": ours(arguments, dtype, length, threads)
            for dtype in arguments.dtypes
        }
        first = next(iter(encoders.values()))
        tokens = np.array([len(one.ids) for one in first.tokens.tokenizer.encode_batch(texts)])
        for _ in range(arguments.turns):
            for name in systems:
                if name in encoders:
                    encoder = encoders[name]
                    encoder.encode(texts[:32])
                    start = time.perf_counter()
                    vectors[name] = encoder.encode(texts).vectors
                    seconds[name].append(time.perf_counter() - start)
                    notes[name] = f"computes in {encoder.runtime.dtype}"
                elif name not in notes or seconds[name]:  # a peer that failed once is not run again
                    job = {"system": name, "model": str(model), "length": length, "threads": threads}
                    job["texts"] = texts
                    answer, found = run_peer(arguments.peer_python, job, folder)
                    notes[name] = answer.get("versions") or "not measured: " + answer["failed"]
                    if found is not None:
                        vectors[name] = found
                        seconds[name].append(answer["seconds"])
        total = flops(shape, inner, tokens)
        reference = vectors.get("sentence-transformers fp32")
        for name in systems:
            row: dict[str, Any] = {"system": name, "max_tokens": length, "note": notes[name]}
            if seconds[name]:
                row["docs_per_s"] = round(len(texts) / min(seconds[name]), 1)
                row["docs_per_s_by_turn"] = [round(len(texts) / one, 1) for one in seconds[name]]
                row["gflop_per_s"] = round(total / min(seconds[name]) / 1e9, 1)
                if reference is not None:
                    row["min_cosine"] = round(float(np.sum(reference * vectors[name], axis=1).min()), 7)
                if seconds.get("sentence-transformers fp32"):
                    row["times_st_fp32"] = round(
                        min(seconds["sentence-transformers fp32"]) / min(seconds[name]), 2
                    )
            rows.append(row)
            print(json.dumps(row), flush=True)
        del encoders
    encoder = ours(arguments, "auto", max(arguments.lengths), threads)
    encoder.encode(texts[:4])
    spans = [[(at, at + 150) for at in range(0, len(text), 150)] for text in texts]
    # Processor time: far steadier than the clock, where a few per cent are to be told apart.
    plain = best(lambda: encoder.encode(texts), arguments.turns, time.process_time)
    late = spans if encoder.late_pooling else None
    pooled = best(lambda: encoder.encode(texts, spans=late), arguments.turns, time.process_time)
    title = texts[0].split(". ", 1)[0]
    cold_script = COLD.format(family=family, place=str(model))
    cold_command = [sys.executable, "-c", cold_script]
    cold = [json.loads(subprocess.check_output(cold_command, text=True)) for _ in range(3)]
    lengths = [len(one.ids) for one in encoder.tokens.tokenizer.encode_batch([title, texts[0]])]
    return {
        "machine": {
            **processor(),
            "threads": threads,
            "load_before_and_after": [load, _load()],
            "numpy_sgemm_gflop_s": round(sgemm_limit(), 1),
            "matmul_f32_gflop_s": round(matmul_limit("f32", threads), 1),
            "matmul_bf16_gflop_s": round(matmul_limit("bf16", threads), 1),
        },
        "texts": {
            "count": len(texts),
            "mean_tokens": round(float(tokens.mean()), 1),
            "gflop_per_text": round(total / len(texts) / 1e9, 2),
        },
        "rows": rows,
        "late_pooling_extra_percent": round(100 * (pooled / plain - 1), 1),
        "query_ms": {
            f"{lengths[0]} tokens": round(1e3 * best(lambda: encoder.encode([title]), 20), 1),
            f"{lengths[1]} tokens": round(1e3 * best(lambda: encoder.encode([texts[0]]), 20), 1),
        },
        "cold_start_ms": {name: round(1e3 * min(run[name] for run in cold), 0) for name in cold[0]},
        "cold_start_total_ms": round(1e3 * min(sum(run.values()) for run in cold), 0),
    }


def markdown(result: dict[str, Any]) -> str:
    machine, texts = result["machine"], result["texts"]
    lines = [
        "# Encoder",
        "",
        f"{machine['processor']} ({machine['flags']}), {machine['threads']} threads, load before and after "
        f"{machine['load_before_and_after']}. Limits: numpy sgemm "
        f"{machine['numpy_sgemm_gflop_s']}, OpenVINO matrix product f32 {machine['matmul_f32_gflop_s']}, "
        f"bf16 {machine['matmul_bf16_gflop_s']} GFLOP/s. {texts['count']} texts of "
        f"{texts['mean_tokens']} tokens, {texts['gflop_per_text']} GFLOP each at the longest maximum.",
        "",
        "| system | max tokens | docs/s | x ST fp32 | GFLOP/s | min cosine to ST fp32 | note |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        cells = [row.get(key, "") for key in ("docs_per_s", "times_st_fp32", "gflop_per_s", "min_cosine")]
        lines.append(
            f"| {row['system']} | {row['max_tokens']} | "
            + " | ".join(map(str, cells))
            + f" | {row['note']} |"
        )
    queries = ", ".join(f"{name}: {ms} ms" for name, ms in result["query_ms"].items())
    steps = ", ".join(f"{name} {ms:.0f}" for name, ms in result["cold_start_ms"].items())
    lines += [
        "",
        f"One query, warm: {queries}. Late pooling of spans of 150 characters: "
        f"{result['late_pooling_extra_percent']:+} % processor time.",
        "",
        f"Cold start to the first query's vector: {result['cold_start_total_ms']:.0f} ms ({steps}).",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--lengths", type=int, nargs="+", default=[256, 512])
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0, help="default: all cores available")
    parser.add_argument("--model", default="", help="model folder; default: the installed one")
    parser.add_argument("--dtypes", nargs="+", default=["auto", "f32"])
    parser.add_argument("--peer-python", default="", help="interpreter with the peers installed")
    parser.add_argument(
        "--peers",
        nargs="*",
        default=["sentence-transformers fp32", "sentence-transformers bf16", "onnxruntime fp32"],
    )
    parser.add_argument("--out", type=Path, default=Path("."))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(arguments, Path(folder))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "encoder.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (arguments.out / "encoder.md").write_text(markdown(result), encoding="utf-8")
    print(markdown(result))


if __name__ == "__main__":
    main()
