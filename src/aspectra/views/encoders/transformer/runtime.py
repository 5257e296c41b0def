"""Runs the graph on the processor: chooses the number type, the streams and the batches."""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.views.encoders.openvino_import import import_openvino
from aspectra.views.encoders.prompts import unit_rows
from aspectra.views.encoders.protocol import Vectors
from aspectra.views.encoders.query_encoder import recall, remember
from aspectra.views.encoders.transformer.network import Network

_LOG = logging.getLogger(__name__)

# Tokens per batch. Larger batches are not quicker on processors (one text of 200 tokens already fills the
# matrix units) and leave the caches: 8 texts of 200 tokens were 15 % slower than 2.
_BATCH_TOKENS = 512
# Lengths are rounded up to a multiple of this: a new length costs some 5 ms of kernel generation.
_STEP = 8
_MIN_COSINE = 0.999
_MIN_GAIN = 1.1


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def step_of(length: int, limit: int) -> int:
    """``length`` rounded up to a multiple of 8, at most ``limit``.

    >>> step_of(13, 512), step_of(16, 512), step_of(253, 255)
    (16, 16, 255)
    """
    return min(-(-length // _STEP) * _STEP, max(limit, length))


def _rows_of(width: int, budget: int) -> int:
    """Rows of a full batch of texts of this width."""
    return max(1, budget // width)


def batches(lengths: Sequence[int], limit: int, budget: int = _BATCH_TOKENS) -> Iterator[list[int]]:
    """Groups of texts of similar length, longest first, each within a budget of padded tokens.

    Args:
        lengths: tokens per text.
        limit: maximum length.
        budget: tokens per batch, padding included; a single text may exceed it.

    Yields:
        Indices into ``lengths``; every index once.

    >>> list(batches([3, 300, 5, 250], 512))
    [[1], [3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    for _, run in itertools.groupby(order, key=lambda index: step_of(lengths[index], limit)):
        group = list(run)
        size = _rows_of(step_of(lengths[group[0]], limit), budget)
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _openvino() -> Any:
    try:
        return import_openvino()
    except ImportError as error:
        raise MissingExtra(
            "an encoder without torch needs OpenVINO", why=str(error), hint="pip install openvino"
        ) from error


class Runtime:
    """The compiled graph.

    Two forms are compiled when first needed (0.1 s each, so no compiled copy is kept on disk): *quick*
    spreads one text over all cores, *bulk* runs one batch per core at the same time.

    Args:
        network: the model.
        pool: the vector of one text from its states (tokens, dimensions); number types are compared by it.
        identity: of the weights, under which the choice of number type is remembered.
        dtype: ``auto``, ``f32`` or ``bf16``.
        threads: cores to use.
    """

    def __init__(
        self,
        network: Network,
        pool: Callable[[Vectors], Vectors],
        identity: str,
        *,
        dtype: str,
        threads: int,
    ) -> None:
        if dtype not in {"auto", "f32", "bf16"}:
            raise UsageError(f"there is no number type {dtype!r}", why="known: auto, f32, bf16")
        self._network = network
        self._pool = pool
        self._identity = identity
        self._asked = dtype
        self._dtype = ""
        self.threads = max(1, threads)
        self._compiled: dict[tuple[str, bool], Any] = {}
        self._core: Any = None
        self._lock = threading.RLock()

    @property
    def dtype(self) -> str:
        """``f32`` or ``bf16``: what the graph computes in."""
        with self._lock:
            if not self._dtype:
                self._dtype = self._choose() if self._asked == "auto" else self._asked
            return self._dtype

    def run(
        self,
        ids: Sequence[Sequence[int]],
        limit: int,
        take: Callable[[int, Vectors], None],
        *,
        apart: bool = False,
        attended: Sequence[int] | None = None,
    ) -> None:
        """Run all texts and pass each one's states to ``take``.

        A text's states depend on the text and on ``apart`` alone, to the last bit, never on the texts beside
        it: the kernel that multiplies is chosen by the shape of a batch and by the form of the graph, so both
        are the same for every text of a length. Otherwise an index that was interrupted would differ from
        one that was not.

        Args:
            ids: per text, its token ids (at least one).
            limit: maximum length.
            take: called with (index of the text, states (tokens, dimensions)); the states are only valid
                during the call. Called from this thread, in no particular order.
            apart: one text a batch, each on all cores: quick for a query, slow for a library.
            attended: per text, how many of its first tokens are attended to; None: all of them.
        """
        seen = [len(row) for row in ids] if attended is None else attended
        budget = 1 if apart else _BATCH_TOKENS
        groups = list(batches([len(row) for row in ids], limit, budget))
        bulk = self.threads > 1 and not apart
        compiled = self._compile(self.dtype, bulk)
        # Two requests per stream, so that a stream has its next batch while we pool the last one.
        # Requests belong to this call alone: that makes calls from several threads independent.
        count = min(len(groups), 2 * (self.threads if bulk else 1))
        requests = [compiled.create_infer_request() for _ in range(count)]
        running: list[tuple[list[int], Any] | None] = [None] * count

        def finish(slot: int) -> None:
            waiting = running[slot]
            running[slot] = None
            if waiting is not None:
                requests[slot].wait()
                states = requests[slot].get_output_tensor(0).data.astype(np.float32, copy=False)
                for row, index in enumerate(waiting[0]):
                    take(index, states[row, : len(ids[index])])

        try:
            for turn, group in enumerate(groups):
                finish(turn % count)
                inputs = self._inputs(
                    [ids[index] for index in group], [seen[index] for index in group], limit, budget
                )
                requests[turn % count].start_async(inputs, share_inputs=True)
                running[turn % count] = (group, inputs)  # keeps the shared inputs alive
            for turn in range(len(groups), len(groups) + count):
                finish(turn % count)
        finally:
            # After an error or an interrupt: no request may still write when its memory goes.
            for request, waiting in zip(requests, running, strict=True):
                if waiting is not None:
                    request.wait()

    def _inputs(
        self, rows: Sequence[Sequence[int]], seen: Sequence[int], limit: int, budget: int
    ) -> list[NDArray[Any]]:
        """Embedded tokens and mask, as many rows as a full batch of this width has."""
        width = step_of(max(len(row) for row in rows), limit)
        shape = (_rows_of(width, budget), width)
        ids = np.zeros(shape, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.float32)
        mask[:, 0] = 1.0  # a row without any token would divide by zero
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : seen[index]] = 1.0
        return self._network.inputs(ids, mask)

    def _compile(self, dtype: str, bulk: bool) -> Any:
        with self._lock:
            if (dtype, bulk) not in self._compiled:
                if self._core is None:
                    self._core = _openvino().Core()
                self._compiled[dtype, bulk] = self._core.compile_model(
                    self._network.graph(),
                    "CPU",
                    {
                        "INFERENCE_PRECISION_HINT": dtype,
                        "NUM_STREAMS": self.threads if bulk else 1,
                        "INFERENCE_NUM_THREADS": self.threads,
                        "ENABLE_CPU_PINNING": False,  # other work on the machine may hold a core
                    },
                )
            return self._compiled[dtype, bulk]

    def _choose(self) -> str:
        """The number type: bf16 where the processor has it, it is quicker, and the vectors agree."""
        openvino = _openvino()
        self._core = self._core or openvino.Core()
        if "BF16" not in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            return "f32"
        key = {
            "choice of number type": 1,
            "weights": self._identity,
            "processor": str(self._core.get_property("CPU", "FULL_DEVICE_NAME")),
            "openvino": str(openvino.__version__),
        }
        known = recall(key)
        if known is not None and known.get("dtype") in {"f32", "bf16"}:
            return str(known["dtype"])
        seconds, pooled = {}, {}
        for dtype in ("f32", "bf16"):
            seconds[dtype], pooled[dtype] = self._trial(dtype)
        cosine = float(np.min(np.sum(pooled["f32"] * pooled["bf16"], axis=1)))
        gain = seconds["f32"] / seconds["bf16"]
        chosen = "bf16" if gain >= _MIN_GAIN and cosine >= _MIN_COSINE else "f32"
        _LOG.info("an encoder computes in %s (bf16: %.2fx, minimum cosine %.6f)", chosen, gain, cosine)
        remember(key, {"dtype": chosen, "gain": round(gain, 3), "min_cosine": round(cosine, 7)})
        self._compiled.pop(("f32" if chosen == "bf16" else "bf16", False), None)
        return chosen

    def _trial(self, dtype: str) -> tuple[float, Vectors]:
        """Seconds (best of three) and unit vectors of four made-up texts of 128 tokens."""
        shape = (4, min(128, self._network.positions))
        ids = np.random.default_rng(0).integers(0, self._network.words, shape)
        inputs = self._network.inputs(ids, np.ones(shape, dtype=np.float32))
        request = self._compile(dtype, False).create_infer_request()
        best = float("inf")
        for _ in range(4):  # the first one generates the kernels
            start = time.perf_counter()
            request.infer(inputs, share_inputs=True)
            best = min(best, time.perf_counter() - start)
        states = request.get_output_tensor(0).data.astype(np.float32, copy=False)
        return best, unit_rows(np.stack([self._pool(text) for text in states]))
