r"""Escape text that a user approves, so that the screen shows exactly what will be used.

`view/plain.clean` protects a terminal by removing things. That is wrong for a command that is about to run: whatever is
removed would still be executed. Here nothing is removed. A character that is invisible, or can be mistaken for another
one, is written as its code (`\x1b`, `\u202e`, `\U000e0041`); everything else stays readable. The rules:

1. Printable ASCII stays. A backslash that begins something that reads like a code becomes `\x5c`, and the last space of a
   line becomes `\x20`.
2. Codes replace controls, format characters (bidi, zero-width, tags), surrogates, private and unassigned characters, all
   spaces except the ASCII one, blank letters, variation selectors, loose diacritics, text that is not in normal form C, and
   symbols, digits and letters that stand for ASCII in another shape (full-width letters, ligatures, quotes, dashes).
3. Letters of living scripts stay unless their word is ambiguous: a word that mixes Latin letters with another alphabet, or
   two other alphabets, or that consists only of look-alikes of ASCII (Cyrillic `сор`) is written in codes. Chinese, Japanese
   and Korean letters may share a word with Latin letters, except those that resemble ASCII (`一`, `ロ`).
4. Right-to-left letters stay only on lines without ASCII letters and digits, because terminals reorder mixed lines.

`unescape(escape(text)) == text` for every text, so two different texts are never shown alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import bidirectional, category, name, normalize

TAB = "⇥"  # printers may show a tab as this sign; the sign itself is always escaped

_CODE = re.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}")
_PLAIN = re.compile(r"[\t -~]*")
_TREE = re.compile("[\t \u2500-\u257f]++(?![-|])")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp", "Me")
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")

# Punctuation and symbols that resemble ASCII without a compatibility mapping to it.
_LOOKALIKES = frozenset(
    "\u00a6\u00d7\u05be\u05c0\u05c3\u05f3\u05f4\u060c\u061b\u066a\u066b\u066c\u066d\u06d4\u0701\u0702\u0703\u0704\u07fa"
    "\u0964\u1735\u1803\u1809\u2010\u2011\u2012\u2013\u2014\u2015\u2016\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f"
    "\u2027\u2032\u2035\u2038\u2039\u203a\u203f\u2040\u2041\u2043\u2044\u204e\u204f\u2052\u2053\u205a\u205d\u205e\u2212"
    "\u2215\u2216\u2217\u2219\u2223\u2228\u222a\u2236\u223c\u21e5\u22c1\u22c5\u23af\u23bd\u23d0\u23fc\u2571\u2572\u2573"
    "\u2758\u275b\u275c\u275d\u275e\u2768\u2769\u276a\u276b\u276c\u276d\u276e\u276f\u2770\u2771\u2772\u2773\u2774\u2775"
    "\u2795\u2796\u27cb\u27cd\u27e8\u27e9\u27ea\u27eb\u292b\u292c\u2987\u2988\u29f5\u29f8\u29f9\u29fa\u29fb\u29fe\u2a2f"
    "\u2a3f\u2aff\u2cc6\u2cfa\u2cfb\u2e0f\u2e17\u2e1a\u2e28\u2e29\u2e31\u2e32\u2e33\u2e3a\u2e3b\u2e40\u2e4a\u2e4f\u2f02"
    "\u2f03\u301c\u301d\u301e\u301f\u3030\u30a0\u30fb\u31d1\u31d3\u31d4\u4e28\u4e36\u4e3f\ua789\ua78a\U0001f7a8\U0001d16d"
)
_LATIN = frozenset("ÆæØøßẞŒœÞþÐðĐđĦħŁłŊŋƏə")  # Latin letters without a decomposition that resemble no ASCII letter
_ALPHABETS = frozenset(
    (
        *("ARABIC", "ARMENIAN", "BENGALI", "CYRILLIC", "DEVANAGARI", "ETHIOPIC", "GEORGIAN", "GREEK", "GUJARATI"),
        *("GURMUKHI", "HEBREW", "KANNADA", "KHMER", "LAO", "MALAYALAM", "MONGOLIAN", "MYANMAR", "ORIYA", "SINHALA"),
        *("TAMIL", "TELUGU", "THAI", "TIBETAN"),
    )
)
_EASTERN = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "KATAKANA-HIRAGANA"))
# Letters that resemble an ASCII letter or digit; a word made only of these is escaped.
_ASCII_LIKE = frozenset(
    "аеорсухіѕјһԁԛԝүѵгьбӏєАВЕЗКМНОРСТУХІЅЈҮӀԌԚԜБГЬЧ"  # Cyrillic
    "αγικνορστυχωημβϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺϜ"  # Greek
    "օոսհցքզգյլՕՍԼՏՀԶ"  # Armenian
    "\u05d5\u05df\u05e1\u05d8\u05d7"  # Hebrew
    "\u0627\u0647\u0629\u0648\u0649\u06c1"  # Arabic
    "\u093d\u0c02\u0c82\u0d02\u0d20\u101d\u10e7\u10ff"  # of India, Burma and Georgia
)
_EASTERN_LIKE = frozenset("一乙口工〇十人入二ーㅡㅣㅇㅅㄱㄴㄷㄥㄚㄒへヘノニト卜ロエ")
_LOOSE_JAMO = ("HANGUL CHOSEONG", "HANGUL JUNGSEONG", "HANGUL JONGSEONG")  # parts that terminals join to syllables
_EASTERN_MARKS = frozenset("，：；！？（）")  # full-width marks stay after an Eastern letter
_STRAIGHT = frozenset("─━│┃┄┅┆┇┈┉┊┋╌╍╎╏╴╵╶╷╸╹╺╻╼╽╾╿═║")


def escape(text: str, keep: str = "\n\t") -> str:
    """Return the text as it is shown for approval. Of the control characters only those in `keep` stay."""
    shown = "\n".join(map(_escape_one_line, text.split("\n")))
    for control in "\n\t":
        if control not in keep:
            shown = shown.replace(control, code(control))
    return shown


def escape_line(text: str) -> str:
    """Return the text on one line: newlines and tabs become codes too."""
    return escape(text, keep="")


def unescape(shown: str) -> str:
    """Return the text that `escape` was given."""
    return _CODE.sub(lambda found: chr(int(found[0][2:], 16)), shown)


def code(letter: str) -> str:
    """Return the code of a character."""
    number = ord(letter)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escape_one_line(line: str) -> str:
    if _PLAIN.fullmatch(line):
        hidden = {match.start() for match in _CODE.finditer(line)}
    else:
        hidden = {index for index, letter in enumerate(line) if _is_hidden(letter)}
        hidden |= {index for index, letter in enumerate(line) if letter == "\\" and _CODE.match(line, index)}
        hidden |= set(_misplaced_marks(line)) | set(_right_to_left(line)) | set(_loose_frames(line))
        for begin, end in _words(line):
            hidden |= _ambiguous(line, begin, end)
    if line.endswith(" "):
        hidden.add(len(line) - 1)
    if not hidden:
        return line
    return "".join(code(letter) if index in hidden else letter for index, letter in enumerate(line))


@lru_cache(maxsize=8192)
def _is_hidden(letter: str) -> bool:
    """Return whether a character is escaped wherever it stands."""
    if " " <= letter <= "~" or letter == "\t":
        return False
    kind = category(letter)
    if kind in _INVISIBLE or letter in _BLANK or letter in _LOOKALIKES or normalize("NFC", letter) != letter:
        return True
    if letter in _EASTERN_MARKS or letter == "〇":
        return False  # decided by what is beside it
    compatible = normalize("NFKC", letter)
    if kind[0] == "L" and name(letter, "").startswith(_LOOSE_JAMO):
        return True
    if kind[0] == "L":
        return not (_is_latin(letter) or (script(letter) in _ALPHABETS | _EASTERN and compatible == letter))
    if kind[0] == "M":
        return script(letter) not in _ALPHABETS or "VARIATION SELECTOR" in name(letter)
    return kind[0] == "N" or compatible != letter or script(letter) == "CJK"


def _is_latin(letter: str) -> bool:
    """Return whether it is a Latin letter that is unmistakable: ASCII, or ASCII with visible accents."""
    return letter in _LATIN or (letter != normalize("NFD", letter) and normalize("NFD", letter)[0] < "\x7f")


@lru_cache(maxsize=8192)
def script(letter: str) -> str:
    """Return the script of a letter or mark, as the first word of its Unicode name."""
    if letter <= "~" or _is_latin(letter):
        return "LATIN"
    return name(letter, "").partition(" ")[0]


def _words(line: str) -> Iterator[tuple[int, int]]:
    begin = None
    for index, letter in enumerate(line):
        if letter.isalnum() or letter == "_" or category(letter)[0] == "M":
            begin = index if begin is None else begin
        elif begin is not None:
            yield begin, index
            begin = None
    if begin is not None:
        yield begin, len(line)


def _ambiguous(line: str, begin: int, end: int) -> set[int]:
    """Return the letters of a word that could be mistaken because of the letters beside them."""
    if line[begin:end].isascii():
        return set()
    letters = {index: script(line[index]) for index in range(begin, end) if not line[index].isdecimal()}
    letters = {index: kind for index, kind in letters.items() if line[index] != "_" and not _is_hidden(line[index])}
    foreign = {index for index, kind in letters.items() if kind in _ALPHABETS}
    eastern = {index for index, kind in letters.items() if kind in _EASTERN}
    has_latin = len(foreign) + len(eastern) < len(letters)
    is_mixed = has_latin or bool(eastern) or len({letters[index] for index in foreign}) > 1
    if is_mixed or all(line[index] in _ASCII_LIKE for index in foreign):
        hidden = foreign
    else:
        hidden = set()
    alike = {index for index in eastern if line[index] in _EASTERN_LIKE}
    return hidden | alike if has_latin or line[begin:end].isdecimal() or alike == eastern else hidden


def _misplaced_marks(line: str) -> Iterator[int]:
    """Marks that would merge with the letter before them, or that belong to another script than it."""
    for index, letter in enumerate(line):
        before = line[index - 1 : index]
        if category(letter)[0] == "M":
            if not before or script(before) != script(letter) or normalize("NFC", before + letter) != before + letter:
                yield index
        elif letter in _EASTERN_MARKS and not (before and _is_eastern(before)):
            yield index


def _is_eastern(letter: str) -> bool:
    return script(letter) in _EASTERN or letter in _EASTERN_MARKS or letter in "、。「」『』《》【】"


def _right_to_left(line: str) -> Iterator[int]:
    if any(letter.isascii() and letter.isalnum() for letter in line):
        for index, letter in enumerate(line):
            if bidirectional(letter) in ("R", "AL", "AN"):
                yield index


def _loose_frames(line: str) -> Iterator[int]:
    """Straight box-drawing lines, which resemble `-` and `|`, unless they belong to a tree at the start of the line."""
    prefix = _TREE.match(line)
    is_tree = prefix is not None and not set(prefix[0]) <= _STRAIGHT | set("\t ")
    for index in range(prefix.end() if prefix and is_tree else 0, len(line)):
        if line[index] in _STRAIGHT:
            yield index
