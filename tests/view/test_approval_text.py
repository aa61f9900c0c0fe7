"""Text that is shown for approval: nothing hidden, nothing removed, nothing that passes for something else."""

from __future__ import annotations

import random
import sys
from unicodedata import category

import pytest

from clew.view.approval_text import escape, escape_line, unescape

READABLE = (
    "git commit -m 'Исправить ошибку разбора дат'",
    "git commit -m 'Добавить тесты, обновить README'",
    "修复登录问题，并更新文档：见 README",
    "エラー処理を追加（Unicode対応）",
    "한국어 커밋 메시지",
    "Größe ändern, naïve café, Łódź, şehir, điện thoại",
    "Διόρθωση σφάλματος",
    "हिन्दी में संदेश",
    "ภาษาไทย",
    "ship it 🎉 🚀 👍🏽 🇩🇪",
    "├── src\n│   └── app.py",
    "a → b, 5 € ± 2 °C • «x» © §",
    r"grep '\.py$' | sed 's/\n/ /' \\server",
    "שלום עולם",
)
HIDDEN = {
    "escape sequence": ("ls \x1b]0;touch x\x07", "ls \\x1b]0;touch x\\x07"),
    "carriage return": ("rm -rf ~\rls     ", "rm -rf ~\\x0dls    \\x20"),
    "C1": ("a\x9b31mb", "a\\x9b31mb"),
    "DEL, NUL": ("a\x7f\0", "a\\x7f\\x00"),
    "bidi": ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
    "zero width": ("a\u200bb\u200dc\u2060d\ufeff", "a\\u200bb\\u200dc\\u2060d\\ufeff"),
    "tags": ("a\U000e0072\U000e006d", "a\\U000e0072\\U000e006d"),
    "variation selectors": ("a\ufe0fb\U000e0100", "a\\ufe0fb\\U000e0100"),
    "soft hyphen": ("pass\u00adwd", "pass\\xadwd"),
    "blank letters": ("a\u3164b\u115fc\uffa0d\u2800e\u034f", "a\\u3164b\\u115fc\\uffa0d\\u2800e\\u034f"),
    "odd spaces": ("a\u00a0b\u2003c\u3000d\u1680e\u202ff", "a\\xa0b\\u2003c\\u3000d\\u1680e\\u202ff"),
    "line separators": ("a\u2028b\u2029c\x85d\x0be\x0cf", "a\\u2028b\\u2029c\\x85d\\x0be\\x0cf"),
    "Cyrillic in a Latin word": ("p\u0430ss", "p\\u0430ss"),
    "a Cyrillic word of look-alikes": ("\u0441\u043e\u0440\u0443", "\\u0441\\u043e\\u0440\\u0443"),
    "Latin letters in a Cyrillic word": ("pa\u0431o\u0442a", "pa\\u0431o\\u0442a"),
    "Greek": ("\u03bf.txt v\u03b1r", "\\u03bf.txt v\\u03b1r"),
    "Armenian, Cherokee, Lisu, Coptic": ("\u0578 \u13aa \ua4d0 \u2c9f", "\\u0578 \\u13aa \\ua4d0 \\u2c9f"),
    "full width": ("\uff52\uff4d \uff0d\uff52", "\\uff52\\uff4d \\uff0d\\uff52"),
    "mathematical": ("\U0001d42b\U0001d426", "\\U0001d42b\\U0001d426"),
    "slashes": ("a\u2044b\u2215c\u29f8d\u2571e", "a\\u2044b\\u2215c\\u29f8d\\u2571e"),
    "dashes": ("\u2010\u2011\u2013\u2014\u2212rf \u30fcx", "\\u2010\\u2011\\u2013\\u2014\\u2212rf \\u30fcx"),
    "quotes": ("\u2018a\u2019 \u201cb\u201d \u2032", "\\u2018a\\u2019 \\u201cb\\u201d \\u2032"),
    "IPA and dotless": ("f\u0131le \u0261it", "f\\u0131le \\u0261it"),
    "digits": ("\u0663 \u0966 \uff11 \u00b2", "\\u0663 \\u0966 \\uff11 \\xb2"),
    "decomposed": ("e\u0301 \u212b", "e\\u0301 \\u212b"),
    "bars": ("ls \u2502 sh \u2758 \u4e28", "ls \\u2502 sh \\u2758 \\u4e28"),
    "right to left beside Latin": ("cp \u05d0 \u05d1", "cp \\u05d0 \\u05d1"),
    "surrogate, private, unassigned": ("\ud800\ue000\u0378", "\\ud800\\ue000\\u0378"),
    "a tab sign that is no tab": ("a\u21e5b", "a\\u21e5b"),
    "something that reads like a code": (r"\x1b \u202e \U000e0041 \X", r"\x5cx1b \x5cu202e \x5cU000e0041 \X"),
    "the space at the end": ("rm a \nb", "rm a\\x20\nb"),
}
# What a person takes for what: the characters that text of the tests is made of, grouped by their look.
ALIKE = (
    "a\u0430\u03b1\uff41\U0001d41a\u0251",
    "o\u043e\u03bf\u0585\u0d20\uff4f\u1d0f",
    "c\u0441\u03f2\uff43",
    "p\u0440\u03c1\uff50",
    "-\u2010\u2011\u2012\u2013\u2212\u30fc\u4e00\u2500\u1173\u3161",
    "/\u2044\u2215\u29f8\u2571\u30ce\u4e3f\uff0f",
    "|\u2502\u2758\u4e28\u01c0\u05c0\uff5c",
    " \u00a0\u2003\u3000\u2800\u3164",
    "\u0431",
    "'\u2018\u2019\u02bc\u2032\uff07",
    "\\",
    "x\u0445\u00d7",
    "e\u0435",
    "\n",
    "4",
    "",
    "\u200b\u202e\u00ad\ufe0f\u034f\u200d",
)


@pytest.mark.parametrize("text", READABLE)
def test_what_people_write_stays_readable(text: str) -> None:
    assert escape(text) == text


@pytest.mark.parametrize("what", HIDDEN)
def test_what_hides_or_deceives_is_shown_as_its_code(what: str) -> None:
    text, shown = HIDDEN[what]
    assert escape(text) == shown
    assert unescape(shown) == text


def test_every_character_can_be_told_from_every_other_and_is_printable() -> None:
    seen: dict[str, str] = {}
    for number in (*range(0x20000), *range(0x20000, sys.maxunicode + 1, 97)):
        shown = escape(chr(number))
        assert shown not in seen, f"{number:x} looks like {seen.get(shown)!r}"
        seen[shown] = chr(number)
        assert shown in ("\n", "\t", " ") or (shown.isprintable() and shown.strip()), f"{number:x}"
        assert all(category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for letter in shown.strip())


def skeleton(shown: str) -> str:
    """A text as somebody sees it who does not look closely."""
    table = {letter: group[0] for group in ALIKE[:-1] for letter in group}
    return "".join(table.get(letter, letter) for letter in shown if letter not in ALIKE[-1])


def test_texts_that_differ_never_look_alike() -> None:
    """Texts are made of look-alikes: each is turned into others that look the same, and all must be shown differently."""
    chance = random.Random(13)
    groups = [group for group in ALIKE if group]
    for _ in range(20_000):
        shape = chance.choices(groups, k=chance.randint(1, 7))
        first, second = ("".join(chance.choice(group) for group in shape) for _ in range(2))
        assert unescape(escape(first)) == first
        if first != second:
            assert skeleton(escape(first)) != skeleton(escape(second)), (first, second)


def test_any_text_comes_back_whole() -> None:
    chance = random.Random(14)
    pieces = [*READABLE, *(text for text, _ in HIDDEN.values()), "\\", "x1b", "u0430", "\n", "\t", " "]
    for _ in range(3_000):
        text = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 6)))
        assert unescape(escape(text)) == text
        assert unescape(escape_line(text)) == text
        assert "\n" not in escape_line(text)
        assert "\t" not in escape_line(text)
        assert escape(text).count("\n") == text.count("\n")
