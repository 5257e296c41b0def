"""A model's folder as a network: arrays of token numbers in, a graph that turns them into token states."""

from __future__ import annotations

import itertools
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.views.encoders.protocol import Vectors, unit_rows
from aspectra.views.encoders.query_encoder import recall, remember
from aspectra.views.encoders.transformer.weights import (
    ACTIVATIONS,
    Shape,
    Tensors,
    as_float32,
    import_openvino,
    needs_torch,
    weight_files,
)

# Encoders as OpenVINO graphs, assembled from their tensors: no torch, no ONNX.
#
# Architectures: Devlin et al. 2019, "BERT" (layer norm after each part; MiniLM, RoBERTa, XLM-R, CamemBERT
# and ELECTRA are built alike); Sanh et al. 2019, "DistilBERT"; Song et al. 2020, "MPNet" (relative
# positions beside the absolute ones). The embedding tables stay outside the graphs, mapped from disk: a
# text touches a few hundred of their rows, so neither start-up nor memory pays for the rest.

# What a masked token's attention score is lowered by: exp underflows to 0, and bf16 and f16 can hold it.
_MASKED = 10_000.0


class Builder:
    """The parts that encoders are made of.

    Args:
        tensors: of the model.
        shape: of the model.
    """

    def __init__(self, tensors: Tensors, shape: Shape) -> None:
        self.openvino = import_openvino()
        self.op = self.openvino.opset13
        self.tensors = tensors
        self.shape = shape
        self.width = shape.dimensions // shape.heads
        self.embeddings = self.op.parameter([-1, -1, shape.dimensions], np.float32, name="embeddings")
        self.mask = self.op.parameter([-1, -1], np.float32, name="mask")
        lowered = self.op.multiply(self.op.subtract(self.mask, self.constant(1.0)), self.constant(_MASKED))
        self.lowered = self.op.unsqueeze(lowered, self.integers(1, 2))

    def constant(self, value: Any) -> Any:
        return self.op.constant(np.ascontiguousarray(value, dtype=np.float32))

    def integers(self, *values: int) -> Any:
        return self.op.constant(np.array(values, dtype=np.int64))

    def tokens(self) -> Any:
        """The number of tokens of the batch, padding included."""
        return self.op.gather(self.op.shape_of(self.mask), self.integers(1), self.integers(0))

    def distances(self) -> Any:
        """(tokens, tokens) int64: how far each token (column) lies behind each other (row)."""
        op = self.op
        zero, one = op.constant(np.int64(0)), op.constant(np.int64(1))
        places = op.range(zero, op.squeeze(self.tokens(), self.integers(0)), one, "i64")
        return op.subtract(op.unsqueeze(places, self.integers(0)), op.unsqueeze(places, self.integers(1)))

    def norm(self, x: Any, name: str) -> Any:
        """Layer norm; without a bias where the model has none."""
        centred = self.op.mvn(x, self.integers(-1), True, self.shape.epsilon, "inside_sqrt")
        scaled = self.op.multiply(centred, self.constant(self.tensors.float32(name + ".weight")))
        return self._biased(scaled, name, 1.0)

    def linear(self, x: Any, name: str, scale: Any = 1.0) -> Any:
        """A linear layer; without a bias where the model has none.

        Args:
            x: (texts, tokens, features).
            name: of the layer.
            scale: what the result is multiplied by: one number, or one for each output.
        """
        factor = np.asarray(scale, dtype=np.float32)
        weight = self.tensors.float32(name + ".weight") * (factor[:, None] if factor.ndim else factor)
        return self._biased(self.op.matmul(x, self.constant(weight), False, True), name, factor)

    def _biased(self, x: Any, name: str, factor: Any) -> Any:
        if name + ".bias" not in self.tensors and self.shape.family == "modernbert":
            return x
        return self.op.add(x, self.constant(self.tensors.float32(name + ".bias") * np.float32(factor)))

    def activation(self, x: Any) -> Any:
        operator, approximation = ACTIVATIONS[self.shape.activation]
        if operator == "gelu":
            return self.op.gelu(x, approximation)
        return self.op.relu(x) if operator == "relu" else self.op.swish(x)

    def split_heads(self, x: Any) -> Any:
        """(texts, tokens, dimensions) to (texts, heads, tokens, width)."""
        split = self.op.reshape(x, self.integers(0, 0, self.shape.heads, self.width), True)
        return self.op.transpose(split, self.integers(0, 2, 1, 3))

    def attend(self, query: Any, key: Any, value: Any, *added: Any) -> Any:
        """Attention over all heads, with what is added to the scores: (texts, tokens, dimensions).

        Scores, softmax and products are separate operators: OpenVINO's fused scaled_dot_product_attention
        was within the noise of it, as was one joint projection to query, key and value.
        """
        op = self.op
        scores = op.matmul(query, key, False, True)
        for one in added:
            scores = op.add(scores, one)
        mixed = op.matmul(op.softmax(scores, -1), value, False, False)
        mixed = op.transpose(mixed, self.integers(0, 2, 1, 3))
        return op.reshape(mixed, self.integers(0, 0, self.shape.dimensions), True)

    def model(self, states: Any) -> Any:
        """The graph that ends in these states.

        Inputs: ``embeddings`` (texts, tokens, dimensions) and ``mask`` (texts, tokens; 1 for a token, 0 for
        padding), both float32. Output: ``states`` (texts, tokens, dimensions).
        """
        return self.openvino.Model(
            [self.op.result(states, name="states")], [self.embeddings, self.mask], self.shape.family
        )


class _Names(Struct, frozen=True):
    """Names of the parts of a layer."""

    layer: str = "encoder.layer.{}."
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    output: str = "attention.output.dense"
    first_norm: str = "attention.output.LayerNorm"
    inner: str = "intermediate.dense"
    outer: str = "output.dense"
    second_norm: str = "output.LayerNorm"


_BERT = _Names()
_NAMES = {
    "mpnet": _Names(
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        output="attention.attn.o",
        first_norm="attention.LayerNorm",
    ),
    "distilbert": _Names(
        layer="transformer.layer.{}.",
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        output="attention.out_lin",
        first_norm="sa_layer_norm",
        inner="ffn.lin1",
        outer="ffn.lin2",
        second_norm="output_layer_norm",
    ),
}


def classic_graph(tensors: Tensors, shape: Shape) -> Any:
    """BERT or a relative, without its embedding tables; see :meth:`Builder.model`."""
    build = Builder(tensors, shape)
    op, names = build.op, _NAMES.get(shape.family, _BERT)
    added = [build.lowered]
    if shape.family == "mpnet":
        added.insert(0, _relative_bias(build))
    x = build.norm(build.embeddings, "embeddings.LayerNorm")
    for layer in range(shape.layers):
        prefix = names.layer.format(layer)
        # Scaling the query's projection by 1 / sqrt(width) saves scaling every score.
        query = build.split_heads(build.linear(x, prefix + names.query, 1 / math.sqrt(build.width)))
        key = build.split_heads(build.linear(x, prefix + names.key))
        value = build.split_heads(build.linear(x, prefix + names.value))
        mixed = build.attend(query, key, value, *added)
        x = build.norm(op.add(x, build.linear(mixed, prefix + names.output)), prefix + names.first_norm)
        inner = build.activation(build.linear(x, prefix + names.inner))
        x = build.norm(op.add(x, build.linear(inner, prefix + names.outer)), prefix + names.second_norm)
    return build.model(x)


def relative_buckets(distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bucket of each relative position in MPNet, 32 in all (those of T5, both directions).

    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1: half of the buckets for each direction, half of
    those for one distance each, the rest for distances up to 128 on a logarithmic scale.

    Args:
        distances: how far the token attended to lies behind the one that attends; negative: before it.

    >>> relative_buckets(np.array([-200, -9, -1, 0, 1, 20])).tolist()
    [15, 8, 1, 0, 17, 26]
    """
    half, exact, farthest = 16, 8, 128
    away = np.abs(distances)
    # In float32 as in the reference: at a bucket's edge the rounding decides.
    ratio = np.log(np.maximum(away, 1).astype(np.float32) / np.float32(exact))
    scaled = ratio / np.float32(math.log(farthest / exact)) * np.float32(half - exact)
    large = np.minimum(exact + scaled.astype(np.int64), half - 1)
    found: NDArray[np.int64] = np.where(distances > 0, half, 0) + np.where(away < exact, away, large)
    return found


def _relative_bias(build: Builder) -> Any:
    """(1, heads, tokens, tokens): what MPNet adds to each score by the distance of the two tokens."""
    farthest = build.shape.positions - 1
    buckets = relative_buckets(np.arange(-farthest, farthest + 1))
    table = build.tensors.float32("encoder.relative_attention_bias.weight")[buckets].T
    op = build.op
    rows = op.add(build.distances(), op.constant(np.int64(farthest)))
    return op.unsqueeze(op.gather(build.constant(table), rows, build.integers(1)), build.integers(0))


# ModernBERT as an OpenVINO graph.
#
# Warner et al. 2024, "Smarter, Better, Faster, Longer", arXiv:2412.13663: layer norm before each part,
# rotary positions (Su et al. 2021, arXiv:2104.09864), every third layer attends to the whole text, the
# others to the neighbours of a token; gated feed-forward layers (GeGLU), no biases.

_FAR = -10_000.0  # added to the score of a token outside the window, as for a masked one


def rotations(positions: int, width: int, theta: float) -> tuple[Vectors, Vectors]:
    """Cosines and sines of the rotary positions.

    Args:
        positions: of a text, at most.
        width: of an attention head; even.
        theta: base of the wave lengths.

    Returns:
        Two arrays (positions, width) float32; both halves of a row are alike.
    """
    # In float32 as the model was trained; the products are small enough for it.
    exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    frequencies = np.float32(1.0) / np.power(np.float32(theta), exponents)
    angles = np.arange(positions, dtype=np.float32)[:, None] * frequencies
    both = np.concatenate([angles, angles], axis=1)
    return np.cos(both), np.sin(both)


class _Rotary:
    """Turns queries and keys by their positions; the tables are cut to the batch's length.

    The tables are constants: angles of thousands of positions computed in bf16 would be wrong.
    """

    def __init__(self, build: Builder, theta: float) -> None:
        self._build = build
        op = build.op
        begin, step, axis = build.integers(0), build.integers(1), build.integers(0)
        self._tables = [
            op.slice(build.constant(table), begin, build.tokens(), step, axis)
            for table in rotations(build.shape.positions, build.width, theta)
        ]

    def __call__(self, x: Any) -> Any:
        op = self._build.op
        first, second = op.split(x, op.constant(np.int64(-1)), 2).outputs()
        turned = op.concat([op.negative(second), first], -1)
        cosines, sines = self._tables
        return op.add(op.multiply(x, cosines), op.multiply(turned, sines))


def modern_graph(tensors: Tensors, shape: Shape) -> Any:
    """ModernBERT without its embedding table; see :meth:`Builder.model`."""
    build = Builder(tensors, shape)
    op = build.op
    axis = op.constant(np.int64(-1))
    rotary = {local: _Rotary(build, shape.thetas[local]) for local in set(shape.local)}
    scores = {False: build.lowered}
    if any(shape.local):
        window = op.constant(np.int64(shape.window))
        far = op.convert(op.greater(op.abs(build.distances()), window), "f32")
        scores[True] = op.add(build.lowered, op.multiply(far, build.constant(_FAR)))
    # Scaling the query's rows by 1 / sqrt(width) saves scaling every score; rotating keeps lengths.
    scale = np.ones(3 * shape.dimensions, dtype=np.float32)
    scale[: shape.dimensions] = 1 / math.sqrt(build.width)
    x = build.norm(build.embeddings, "embeddings.norm")
    for layer, local in enumerate(shape.local):
        prefix = f"layers.{layer}."
        normed = build.norm(x, prefix + "attn_norm") if layer else x
        joint = build.linear(normed, prefix + "attn.Wqkv", scale)
        query, key, value = (build.split_heads(part) for part in op.split(joint, axis, 3).outputs())
        turn = rotary[local]
        mixed = build.attend(turn(query), turn(key), value, scores[local])
        x = op.add(x, build.linear(mixed, prefix + "attn.Wo"))
        wide = build.linear(build.norm(x, prefix + "mlp_norm"), prefix + "mlp.Wi")
        inner, gate = op.split(wide, axis, 2).outputs()
        x = op.add(x, build.linear(op.multiply(build.activation(inner), gate), prefix + "mlp.Wo"))
    return build.model(build.norm(x, "final_norm"))


class Network(Protocol):
    """A model as the runtime needs it.

    Attributes:
        words: how many token numbers there are.
        positions: tokens that a text can have.
    """

    words: int
    positions: int

    def graph(self) -> Any:
        """The OpenVINO model; its first output is (texts, tokens, dimensions), the last layer's states."""
        ...

    def inputs(self, ids: NDArray[np.int64], mask: Vectors) -> list[NDArray[Any]]:
        """The graph's inputs in its order, for (texts, tokens) numbers and 1 where there is a token."""
        ...


class SafetensorsNetwork:
    """A model in ``model.safetensors`` and ``config.json``, its embedding tables mapped from disk.

    Args:
        folder: of the model.

    Raises:
        UsageError: the files are damaged, or describe no encoder that can be run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shape = Shape.read(folder)
        self.tensors = Tensors(folder, weight_files(folder))
        modern = self.shape.family == "modernbert"
        self._words = self.tensors[
            "embeddings.tok_embeddings.weight" if modern else "embeddings.word_embeddings.weight"
        ]
        self.words, self.positions = len(self._words), self.shape.positions

    def graph(self) -> Any:
        """See :class:`Network`.

        Raises:
            UsageError: a tensor is missing, or its size is another than the configuration says.
        """
        build = modern_graph if self.shape.family == "modernbert" else classic_graph
        try:
            return build(self.tensors, self.shape)
        except (RuntimeError, ValueError) as error:
            why = f"its weights do not fit its config.json ({str(error).strip().splitlines()[-1]})"
            raise needs_torch(self.folder, why) from error

    def inputs(self, ids: NDArray[np.int64], mask: Vectors) -> list[NDArray[Any]]:
        """See :class:`Network`."""
        return [self.embed(ids), mask]

    def embed(self, ids: NDArray[np.int64]) -> Vectors:
        """Sum of word, position and segment embeddings.

        Args:
            ids: (texts, tokens).

        Returns:
            (texts, tokens, dimensions) float32, before the layer norm (which is in the graph).
        """
        try:
            rows = as_float32(np.take(self._words, ids, axis=0))
        except IndexError as error:
            raise UsageError(
                f"the tokenizer of {self.folder} does not fit its weights",
                why=f"it has the token number {ids.max()}, and there are {len(self._words)} words",
            ) from error
        if self._places is None:
            return rows
        if self.shape.padding is None:
            rows += self._places[: ids.shape[1]]
        else:  # a padding token inside a text has a position of its own and does not count
            counted = ids != self.shape.padding
            rows += self._places[np.cumsum(counted, axis=1) * counted + self.shape.padding]
        return rows

    @cached_property
    def _places(self) -> Vectors | None:
        """(positions, dimensions): position embeddings plus the embedding of segment 0."""
        if self.shape.family == "modernbert":
            return None
        places = np.array(self.tensors.float32("embeddings.position_embeddings.weight"))
        if self.shape.family not in {"distilbert", "mpnet"}:
            places += self.tensors.float32("embeddings.token_type_embeddings.weight")[0]
        return places


# Runs the graph on the processor: chooses the number type, the streams and the batches.

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
