"""Generate other forms of a query word: other endings, and forms of the same identifier, version or hash.

The index contains words exactly as they were written. A form is therefore looked up like any other word, and a form
that does not occur costs almost nothing. Endings follow Porter's rules, which SQLite has built in:

    endings("rewinding")      rewind, rewinds, rewinded, rewinder … (everything with the stem `rewind`)
    endings("ran")            run, runs, running (a table has the irregular verbs)
    identifier_forms(...)     tideGauge: "tide gauge"; 1.2.3: v1.2.3; deadbeef: 0xdeadbeef and deadbeef…
"""

from __future__ import annotations

from itertools import groupby

import apsw

from clew.index.tokenizer import TOKENIZER

ACCENTS, PARTS = 0, 1  # kinds of rows in the table `form`: words with accents, identifiers
SHORTEST, LONGEST = 3, 40  # letters of a word that has other endings
_SUFFIXES = (
    *("", "s", "es", "e", "d", "ed", "er", "ers", "ing", "ings", "ly", "y", "ies", "ied", "ion", "ions", "or", "ors"),
    *("ation", "ations", "able", "ment", "ments", "al", "ity", "ize", "ized", "ise", "ised"),
)
_DERIVED = ("ly", "er", "ers")
_IRREGULAR = """
be is are was were been being|begin began begun beginning|break broke broken breaks breaking|bring brought brings
build built builds building|buy bought buys|catch caught catches catching|choose chose chosen chooses choosing
come came comes coming|cut cuts cutting|deal dealt deals|do did done does doing|draw drew drawn draws drawing
drive drove driven drives driving|eat ate eaten eats|fall fell fallen falls falling|feed fed feeds feeding
find found finds finding|fly flew flown flies flying|forget forgot forgotten forgets
freeze froze frozen freezes freezing|get got gotten gets getting|give gave given gives giving|go went gone goes going
grow grew grown grows growing|hang hung hangs hanging|have had has having|hear heard hears
hide hid hidden hides hiding|hold held holds holding|keep kept keeps keeping|know knew known knows
lead led leads leading|leave left leaves leaving|lose lost loses losing|make made makes making|mean meant means
meet met meets meeting|pay paid pays paying|read reads reading|ride rode ridden|ring rang rung|rise rose risen rises
run ran runs running|say said says saying|see saw seen sees seeing|seek sought seeks|sell sold sells selling
send sent sends sending|set sets setting|shake shook shaken|show showed shown shows showing
shrink shrank shrunk shrinks shrinking|shut shuts shutting|sing sang sung|sink sank sunk|sleep slept sleeps sleeping
speak spoke spoken speaks|spend spent spends spending|spin spun spins spinning|split splits splitting
stand stood stands standing|steal stole stolen|stick stuck sticks|strike struck strikes|swim swam swum
take took taken takes taking|teach taught teaches|tear tore torn tears tearing|tell told tells
think thought thinks thinking|throw threw thrown throws throwing|understand understood understands
wake woke woken wakes|wear wore worn|win won wins winning|write wrote written writes writing|child children|man men
person people|index indexes indices indexed indexing|matrix matrices|vertex vertices|axis axes
analysis analyses analyze analyzed analyse analysed|criterion criteria|datum data|hypothesis hypotheses|leaf leaves
half halves|life lives|mouse mice|foot feet|schema schemas schemata|appendix appendices
"""
_BEFORE_CAPITALS = {code: f" {chr(code)}" for code in range(ord("A"), ord("Z") + 1)}
_HEX = frozenset("0123456789abcdef")
MIN_HASH = 7  # digits
_stemmer: list[apsw.FTS5Tokenizer] = []
_irregular: dict[str, list[str]] = {}


def stems(words: list[str]) -> list[str]:
    """Return the Porter stem of each word."""
    if not _stemmer:
        _stemmer.append(apsw.Connection(":memory:").fts5_tokenizer("porter", TOKENIZER.split()))
    tokens: list[tuple[int, int, str]] = _stemmer[0](" ".join(words).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)  # type: ignore[assignment]
    return [stem for _, _, stem in tokens]


def endings(word: str) -> list[str]:
    """Return the other forms of a word that have the same stem, and its irregular forms."""
    if not SHORTEST <= len(word) <= LONGEST or not (word.isalpha() and word.isascii()):
        return []
    stem = stems([word])[0]
    bases = {word, stem, stem[:-1] if stem.endswith("i") else stem, stem + stem[-1]}
    candidates = sorted({base + suffix for base in bases for suffix in _SUFFIXES} - {word})
    forms = [form for form, own in zip(candidates, stems(candidates), strict=True) if _fold_y(own) == _fold_y(stem)]
    return [*dict.fromkeys([*forms, *_irregular_forms(word, stem), *_derived_forms(word)])]


def _derived_forms(word: str) -> list[str]:
    """Return the adjective of an adverb and the verb of an agent noun, and the other way round."""
    bases = [
        word[: -len(ending)] for ending in _DERIVED if word.endswith(ending) and len(word) - len(ending) >= SHORTEST
    ]
    return [form for base in bases for form in (base, base + "e", base + "s")] + [word + ending for ending in _DERIVED]


def _fold_y(stem: str) -> str:
    """Return a stem with a final i for y: the rules give `deploi` for deploy, but `deploy` for deployment."""
    return stem[:-1] + "i" if stem.endswith("y") else stem


def _irregular_forms(word: str, stem: str) -> list[str]:
    if not _irregular:
        for group in _IRREGULAR.replace("\n", "|").split("|"):
            for form in group.split():
                _irregular.setdefault(form, []).extend(group.split())
    return [form for form in _irregular.get(word) or _irregular.get(stem, []) if form != word]


def fold(word: str) -> str:
    """Return a word without accents and in its compatible form: `café` and `ｃａｆｅ` give `cafe`."""
    if word.isascii():
        return word
    from unicodedata import combining, normalize

    return "".join(character for character in normalize("NFKD", word) if not combining(character)).lower()


def humps(identifier: str) -> list[str]:
    """Return the parts of an identifier in camel case, in lower case: getURLName2 gives get, url, name, 2."""
    parts: list[str] = []
    runs = [identifier] if identifier.isalpha() else ["".join(run) for _, run in groupby(identifier, str.isdigit)]
    for run in runs:
        for part in run.translate(_BEFORE_CAPITALS).split():  # get, U, R, L, Name
            if len(part) == 1 and parts and part.isupper() and parts[-1].isupper():
                parts[-1] += part
            else:
                parts.append(part)
    return [part.lower() for part in parts]


def identifier_forms(text: str, words: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return other ways to write an identifier, a version or a hash, each with whether it is a prefix.

    `text` is the term as it was typed, and `words` are its words.
    """
    if len(words) == 1:
        if len(words[0]) >= MIN_HASH and _HEX.issuperset(words[0]):
            return [(words[0], True), (f"0x{words[0]}", True)]
        parts = humps(text) if text.isalnum() and text.isascii() else []
        return [(" ".join(parts), False)] if len(parts) > 1 else []
    if words[0].isdigit():  # 1.2.3 may be written as v1.2.3, and 3.14 be the beginning of 3.14159
        return [(" ".join(words), True), ("v" + " ".join(words), False)]
    if words[0].startswith("v") and words[0][1:].isdigit():
        return [(" ".join((words[0][1:], *words[1:])), False)]
    if all(word.isalpha() for word in words) and not {".", "/", "\\"} & set(text):
        return [("".join(words), False)]  # tide_gauge and tide-gauge: tideGauge
    return []
