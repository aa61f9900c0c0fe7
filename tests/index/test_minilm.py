"""The model and its word pieces, judged by the libraries that it was made with."""

from __future__ import annotations

import os
import shutil
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from clew.errors import ClewError
from clew.index.semantic.minilm import CHECKSUMS, SIZE, MiniLm, model_folder, verify_files
from clew.index.semantic.wordpiece import MAX_PIECES, MAX_STRETCHES

JUDGED = {  # by sentence-transformers 6.2.0 on torch 2.13.0, in a byte for each number
    "Where does the cent go?": (
        "PgW5D0LWFh46FSYBEgUTz9MFzOTY4vwc6T7p+/SryybZBuoSMfw90QzAMv0hBgIeRBxK2MhJ6zM/+DodCtnfGgaF6fjC2wrg/7kk414U"
        "+/zwKlML4QQ5BPLL7S3TAfgPxf/zKFkzA9jk9tlYHggHBx8a+dEiBdfa/D7qE6MUHgCc6B7h5fvZYCf5G93lCNStC/HYxttR/i8lOvPm"
        "9f70Lfz150czEuIx5ObfNd4KNzc18eP83PXr4gjRustNE9kN2h3W6tYhxvg1FwjU198T3vYaDvBW0+XaNb72w3IJAwDwE9FqJfMPCwU7"
        "0RgbHFMUITzP+dDUGijSQBHa8u/CwNfzz/++188X/v0SKMnGJEkVBCryIyfLVOlABuXsBQ0b5Qf0TvoR+lMcls5aLs8n5/8F+skWufvh"
        "7s0CFxALDgD3DyhJNS5/KfMx3Cz+1xQv1Rf3Iub5H+v4Bhlh6BQE+7ro6QEIRS3T4u7PDKjUsTTl4+TrGC48CNr1mUSp+Cv7"
    ),
    "foo_bar.baz() -> x != y; `rm -rf build/*`": (
        "0CHfC+rTUM3o0RYBJvQ5KrwzFwv4TiNBBvYY6SrhV38L2xQmD+Hr96dg2uDJ+fP66sUW2K/Lc93h8hEY0lQd9Tz39CordiesHxf+MUj0"
        "ABaduOLEODPu8Foky/fgGub/MwL1K/5HXAETDAYF1uva1Azs1gxHDPsKIx02Npfc6gAF6M8T5uUbTepDH+Pv+TXcCd7nCAlCmggI2kLs"
        "zx7uu/k35g7JF7rqMtuXJxvuu/4Huj9SDB4c2fsnOPAK/slF1+YLCQno+uoB3c4C4QwP2/wy8Bg1+kSzrdrx3Let8wBB/xzI0KIhlOvB"
        "lckqyDUP9bqjKuP1QA3X5Ro0JvvzEva81+naUuHSIGKwIvEsOMQO71b1Gc4W5PQSCzM76DLf0dnrBRrZLW3OKKwuHPwM/RoTFC7a8MhU"
        "4stG/ScMAgDI6QgRExK2wi2WJj/WJrTaFCLsDLZN+RHm9QIYbPBIGP4b/uUa//JJ8swH/MDRwAIF5A08kBv4DwQvwvZE4jot"
    ),
    "Ünïcödé naïve café, 日本語 and 한국어": (
        "/+Ur3uz0Ldbc/GHF6+VVvjL53fHy1gcfOQt2E0PhwUxV5ho7IMEZNJ2wRgIZA9rXzvfFBQDine+9axQrv9j/dfIDzCke4wDtKg7lMSfy"
        "7/T/KOMI/v7M38USRxUV+c8b3z7rINQuF/7nue/UYene2dXb4dM9rEAb6d320KjuLAA1KPO94cv549v5Kj+qFAIzKDfyJklPP8nERBLh"
        "3TkH/yU5iq/e5SAZxALWVO8eMK3m9ru3xitH4hcm+OnuXP0RDej80B69FeYjBLLwAskAPBHjLAD2MFPcKya9Nf/hGwAj9NUIuiw3KfIJ"
        "+d8Z7AX7SyQMLOwChUEo9BoDqyMV/wVJD/rKB90VBcLG8wrRw9sWo2Xy6N/oDwf+8CgQySIB7AlRGh3ADQwAIdgg1w0QEdpM6BUvJttF"
        "DdEOT8NSIwAChwI0EcvWyyD9/Ry8RgTxH00XR3LyP9HgDd0f/73Ps71BJjnEr60NGoEF/wkXJg7+H63t7+dF8g705eUkN8b1"
    ),
    "The gauge stood still for two hours. " * 12: (
        "AjbzUCMh9BcV6QzhDhqpGucAsPAmDiUzJzH5Jzb1uLgg+9fqJAMTCQPX5B8BTPv58BQYC7j8BzPmKv4svg71JRrl0xQeIOI01v77ykH8"
        "K9Xw3/3t/BI0O+HKPhLhADTjwH/16wXhwBILDekz9jMy+SMXA1HqTxkFHPj0n+5iOwDNwvEtwOq9MPBY0SXK/N3NefgYqfMrFhv85DQj"
        "1vwY58IYB7VxDk607yoz3AXO/OIIRfjwHA4JL8wP0SYpSBn2CUvZ9NDq4ckG4d66ABbRyt4J7x/2uAK+GQ2zGDjRPAAhMsUWHPfd//MQ"
        "KwC+3gP5INzqKQbMsrUOPxK3H/DlnOod0pcz5gAyNiI20/pHHLrT2/b07+DEzPjvywYIwhwuyD3+BvQIFfzU2+MCnxTv2AUn5u7nIQ09"
        "ACBIJCQu4QAfLunGDygH/ec7Buv5rMvfscoiEAUh1hQRFP7OKhxPPNrx867ICyZSyNH5DEIAYQm0+tknBQo2+xwB3wnb2roM"
    ),
}


@pytest.fixture(scope="module")
def model() -> MiniLm:
    return MiniLm.load()


@pytest.mark.parametrize(
    ("text", "pieces"),  # by tokenizers 0.23.3
    [
        ("Where does the cent go?", [2073, 2515, 1996, 9358, 2175, 1029]),
        (
            "foo_bar.baz() -> x!=y; $HOME €5 ∞ 😀",
            [
                *(29379, 1035, 3347, 1012, 8670, 2480, 1006, 1007, 1011, 1028, 1060, 999, 1027, 1061, 1025),
                *(1002, 2188, 1574, 2629, 1601, 100),
            ],
        ),
        ("Ünïcödé naïve café ﬁ İstanbul ΑΣ", [27260, 15743, 7668, 1984, 9960, 1155, 29733]),
        (
            "日本語の abc 한국어 ไทย",
            [1864, 1876, 1950, 1671, 5925, 1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 100],
        ),
        ("x\u200by\u00adz \x00q \ufffd", [1060, 2100, 2480, 1053]),
        ("don't — “quoted” … ‘ok’", [2123, 1005, 1056, 1517, 1523, 9339, 1524, 1529, 1520, 7929, 1521]),
        ("a" * 101 + " b", [100, 1038]),
        ("unaffable tokenisation", [14477, 20961, 3468, 19204, 6648]),
    ],
)
def test_word_pieces_are_those_of_the_library(model: MiniLm, text: str, pieces: list[int]) -> None:
    (only,) = model.words.stretches(text)
    assert only.pieces == [101, *pieces, 102]
    assert text[only.start : only.stop] == text.strip()


def test_a_long_text_is_cut_between_words_and_loses_none(model: MiniLm) -> None:
    text = "  ".join(f"word{number}" for number in range(400))
    made = list(model.words.stretches(text))
    assert len(made) > 2
    assert " ".join(text[one.start : one.stop] for one in made).split() == text.split()
    assert all(len(one.pieces) <= MAX_PIECES + 2 for one in made)


def test_a_text_is_cut_between_paragraphs_where_it_can_be(model: MiniLm) -> None:
    text = "one " * 40 + "\n\n" + "two " * 40 + "\n\n" + "three " * 40
    assert [text[one.start : one.stop].split()[0] for one in model.words.stretches(text)] == ["one", "three"]


def test_of_a_pasted_text_the_beginning_counts(model: MiniLm) -> None:
    assert len(list(model.words.stretches("apple pear " * 10_000))) == MAX_STRETCHES
    assert list(model.words.stretches(" \n ")) == []
    (one,) = model.words.stretches("-" * 5000)  # one word of more pieces than the model takes
    assert len(one.pieces) == MAX_PIECES + 2


def test_embeddings_are_those_of_the_library(model: MiniLm) -> None:
    judged = np.stack([np.frombuffer(b64decode(packed), np.int8) for packed in JUDGED.values()]).astype(np.float32)
    judged /= np.linalg.norm(judged, axis=1, keepdims=True)
    made = model.embed([next(model.words.stretches(text)) for text in JUDGED])
    assert made.shape == (len(JUDGED), SIZE)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert (made * judged).sum(axis=1).min() > 0.9995


def test_the_company_of_a_text_does_not_change_its_embedding(model: MiniLm) -> None:
    stretches = [
        next(model.words.stretches("tide " * size + "gauge")) for size in (1, 120, 3, 50, 120, 40, 120, 99)
    ] * 6
    alone = np.concatenate([model.embed([one]) for one in stretches])
    assert np.allclose(model.embed(stretches), alone, atol=1e-5)


# -- that it is the model that was published


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the model, named by CLEW_MODEL."""
    source = model_folder()
    assert source is not None
    place = tmp_path / "model"
    place.mkdir()
    for name in CHECKSUMS:
        shutil.copy(Path(source) / name, place / name)
    monkeypatch.setenv("CLEW_MODEL", str(place))
    return place


def test_another_copy_of_the_model_can_be_named(copy: Path) -> None:
    assert model_folder() == str(copy)
    MiniLm.load()


@pytest.mark.parametrize("name", CHECKSUMS)
def test_a_model_with_another_checksum_is_refused(copy: Path, tmp_path: Path, name: str) -> None:
    stamp = tmp_path / "model.verified"
    MiniLm.load(str(stamp))
    with open(copy / name, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(ClewError, match="SHA-256 differs") as refused:
        MiniLm.load(str(stamp))
    assert "CLEW_MODEL" in refused.value.hint


def test_a_model_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_MODEL", str(tmp_path / "none"))
    with pytest.raises(ClewError, match="No such file"):
        MiniLm.load()


def test_a_verified_model_is_not_read_again(copy: Path, tmp_path: Path) -> None:
    stamp = tmp_path / "model.verified"
    verify_files(str(copy), str(stamp))
    before = stamp.stat().st_ino
    verify_files(str(copy), str(stamp))
    assert stamp.stat().st_ino == before  # it was not written again
