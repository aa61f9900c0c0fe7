"""Make queries of twelve kinds from target sessions.

Each query is drawn from one session, and a reader of its own checks that it means that session alone: `Library` says
what the other sessions have. A draw that would fit another session is thrown away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from benchmarks.recall.lexicon import STOP, common, form_table, inflectable, paraphrases, synonyms, topics
from benchmarks.recall.reader import Library, Passage, fold, words

WINDOW = 30  # words of a passage that are remembered together
SHARE = 4  # every fourth target is a real sample, if there are any
TRIES = 40  # draws from one session
PARAPHRASE = "paraphrase"
IDENTIFIERS = {
    "camel": re.compile(r"\b[a-z]+(?:[A-Z][a-z]+){1,4}\b|\b(?:[A-Z][a-z]+){2,5}\b"),
    "snake": re.compile(r"\b[a-z]+(?:_[a-z]+){1,4}\b"),
    "version": re.compile(r"\bv(\d+\.\d+\.\d+)\b"),
    "hash": re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{40}\b"),
}
NAME = re.compile(r"\S*(?:[a-z][A-Z]|\w_\w|\w/\w|\w\.\w|\d)\S*")
PATH = re.compile(r"\b[\w-]+(?:/[\w.-]+)+\.\w{1,4}\b")
ERROR = re.compile(r"(?i)\b(error|exception|fatal|panic|failed|timed out|timeout|assertion|cannot)\b|^E\d+:")
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{5,}")
ACCENTED = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Query:
    """What is typed, and the session that is meant."""

    id: str
    kind: str
    text: str
    session: str


Draw = Callable[[Library, str, Random], str | None]


def make_queries(library: Library, seed: int, kinds: Iterable[str] = ()) -> list[Query]:
    """Make the queries of some kinds, or of all."""
    made = []
    for kind, (count, draw) in KINDS.items():
        if not kinds or kind in kinds:
            rng = Random(f"{seed}:{kind}")
            texts = _drawn(library, draw, count, rng)
            made += [Query(f"{kind}-{n:02d}", kind, text, session) for n, (session, text) in enumerate(texts, 1)]
    return made


def _drawn(library: Library, draw: Draw, count: int, rng: Random) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for session in _targets(library, rng):
        for _ in range(TRIES):
            text = draw(library, session, rng)
            if text and text not in seen:
                seen.add(text)
                yield session, text
                break
        if len(seen) == count:
            return


def _targets(library: Library, rng: Random) -> Iterator[str]:
    """Yield sessions in random order, the real ones more often than their share, all of them twice."""
    real = sorted(library.samples)
    other = sorted(set(library.by_session) - library.samples)
    for _ in range(2):
        rng.shuffle(real)
        rng.shuffle(other)
        waiting = list(real)
        for number, session in enumerate(other):
            if number % (SHARE - 1) == 0 and waiting:
                yield waiting.pop()
            yield session


# -- the words of a passage


def _spoken(library: Library, session: str, rng: Random) -> Passage | None:
    """Choose something that the person or the model said."""
    several = [p for p in library.by_session[session] if len(p.spoken) > 40]
    return rng.choice(several) if several else None


def _content(text: str, rng: Random) -> list[str]:
    """Return the content words of a part of a text, in order, each once. Identifiers and paths are no words."""
    every = words(NAME.sub(" ", text))
    start = rng.randrange(max(1, len(every) - WINDOW))
    near = dict.fromkeys(every[start : start + WINDOW])
    return [w for w in near if len(w) > 3 and w not in STOP and w.isalpha() and w.isascii()]


def paraphrase_queries(library: Library) -> list[Query]:
    """Return the paraphrases that share no content word, in any form, with what was said in their session."""
    queries: list[Query] = []
    for session in sorted(library.by_session):
        said = {word for passage in library.by_session[session] for word in words(passage.spoken)}
        for text in paraphrases().get(session[:8], ()):
            content = [word for word in words(text) if len(word) > 3 and word not in STOP]
            if not any(said.intersection([word, *form_table().get(word, ())]) for word in content):
                queries.append(Query(f"paraphrase-{len(queries) + 1:02d}", PARAPHRASE, text, session))
    return queries


def _some(found: list[str], count: int, rng: Random) -> list[str]:
    """Choose some of the words, in their order."""
    return [found[at] for at in sorted(rng.sample(range(len(found)), count))]


def _chosen(library: Library, session: str, rng: Random, count: int, known: Iterable[str] = ()) -> list[str] | None:
    """Choose content words of one passage that mean this session; only known ones, if any are given."""
    passage = _spoken(library, session, rng)
    found = _content(passage.spoken, rng) if passage else []
    if known:
        found = [word for word in found if word in known]
    if len(found) < count:
        return None
    chosen = _some(found, count, rng)
    return chosen if library.holders([word] for word in chosen) == {session} else None


# -- the kinds


def _exact(library: Library, session: str, rng: Random) -> str | None:
    chosen = _chosen(library, session, rng, rng.choice((3, 4)))
    return " ".join(chosen) if chosen else None


def _inflected(library: Library, session: str, rng: Random) -> str | None:
    table = form_table()
    chosen = _chosen(library, session, rng, rng.choice((3, 4)), inflectable())
    if not chosen or library.holders(table[word] for word in chosen) != {session}:
        return None
    return " ".join(rng.choice([form for form in table[word] if form != word]) for word in chosen)


def _wrong_word(library: Library, session: str, rng: Random) -> str | None:
    chosen = _chosen(library, session, rng, rng.choice((2, 3, 4)))
    if not chosen:
        return None
    topic = rng.choice([topic for topic in topics() if topic.nouns])
    wrong = rng.choice((rng.choice(topic.nouns), rng.choice(common().nouns), rng.choice(common().verbs)))
    asked = list(chosen)
    asked.insert(rng.randrange(len(asked) + 1), wrong)
    own, other = library.most(session, asked)
    return " ".join(asked) if wrong not in chosen and own == len(chosen) and other < own else None


def _synonym(library: Library, session: str, rng: Random) -> str | None:
    table = synonyms()
    passage = _spoken(library, session, rng)
    found = _content(passage.spoken, rng) if passage else []
    able = [word for word in found if word in table]
    rest = [word for word in found if word not in table]
    replaced, kept = rng.choice(((1, 2), (1, 3), (2, 3)))
    if len(able) < replaced or len(rest) < kept:
        return None
    right = rng.sample(rest, kept)
    chosen = {*rng.sample(able, replaced), *right}
    asked = [word for word in found if word in chosen]
    alike = library.holders([word, *table.get(word, ())] for word in asked)
    if alike != {session} or len(library.holders([word] for word in right)) > 3:
        return None
    return " ".join(rng.choice(table[word]) if word in table else word for word in asked)


def _identifier(library: Library, session: str, rng: Random) -> str | None:
    text = rng.choice(library.by_session[session]).text[:20_000]
    kind = rng.choice(("camel", "camel", "snake", "snake", "version", "hash"))
    names = sorted({match.group() for match in IDENTIFIERS[kind].finditer(text)})
    if not names:
        return None
    name = rng.choice(names)
    if kind == "version":
        parts = [name[1:]]
    elif kind == "hash":
        parts = [name[: rng.randint(7, 10)]]
    else:
        parts = _name_parts(name, text, rng)
        if any(len(part) < 4 for part in parts) or parts[0].lower() == name.lower():
            return None
    return " ".join(parts) if library.holders_of_parts(parts) == {session} else None


def _name_parts(name: str, text: str, rng: Random) -> list[str]:
    """Return two neighbouring parts of a name, joined or apart, or one part and a word of the same passage."""
    humps = re.findall(r"[A-Z]?[a-z]+", name)
    at = rng.randrange(len(humps) - 1)
    choice = rng.random()
    if choice < 0.4:
        return [("_" if "_" in name else "").join(humps[at : at + 2])]
    if choice < 0.7:
        return [hump.lower() for hump in humps[at : at + 2]]
    return [humps[at + 1].lower(), rng.choice(_content(text, rng) or [""])]


def _path(library: Library, session: str, rng: Random) -> str | None:
    passage = rng.choice(library.by_session[session])
    names = sorted(set(PATH.findall(passage.text[:20_000])))
    if not names:
        return None
    folder, _, base = rng.choice(names).rpartition("/")
    near, stem = folder.rpartition("/")[2], base.rpartition(".")[0]
    parts = rng.choice(([base], [f"{near}/{stem}"], [near, stem], [f"{near}/{base}"], [stem]))
    if len(stem) < 5 or not near:
        return None
    return " ".join(parts) if library.holders_of_parts(parts) == {session} else None


def _error(library: Library, session: str, rng: Random) -> str | None:
    lines = {
        line.strip(" `")
        for passage in library.by_session[session]
        for line in re.split(r"\n|(?<=`) | (?=`)", passage.text)
        if 20 < len(line) < 160 and ERROR.search(line) and re.search(r"\d", line)
    }
    if not lines:
        return None
    line = re.sub(r"\s+", " ", rng.choice(sorted(lines)))
    asked = [[word] for word in words(line) if not re.search(r"\d", word)]
    if len(asked) < 4 or library.holders(asked) != {session}:
        return None
    return re.sub(
        r"\d+",
        lambda match: str(int(match.group()) + rng.randint(1, 40)) if len(match.group()) < 9 else match.group(),
        line,
    )


def _wide(library: Library, session: str, rng: Random) -> str | None:
    runs = [run for passage in library.by_session[session] for run in WIDE.findall(passage.spoken)]
    if not runs:
        return None
    run = rng.choice(runs)
    length = rng.choice((2, 3, 4))
    start = rng.randrange(len(run) - length + 1)
    part = run[start : start + length]
    return part if library.holders_of_parts([part]) == {session} else None


def _accents(library: Library, session: str, rng: Random) -> str | None:
    several = [
        p.spoken for p in library.by_session[session] if fold(p.spoken) != unicodedata.normalize("NFC", p.spoken)
    ]
    if not several:
        return None
    found = [word for word in words(rng.choice(several)) if len(word) > 3 and not WIDE.search(word)]
    marked = [word for word in found if fold(word) != word and all(ord(c) < 0x500 for c in word)]
    if not marked or len(found) < 2:
        return None
    chosen = {rng.choice(marked), *rng.sample(found, rng.choice((0, 1)))}
    if library.holders([word, fold(word)] for word in chosen) != {session}:
        return None
    text = " ".join(word for word in dict.fromkeys(found) if word in chosen)
    return unicodedata.normalize("NFD", text) if rng.random() < 0.3 else fold(text)


def _scattered(library: Library, session: str, rng: Random) -> str | None:
    said = [p for p in library.by_session[session] if len(p.spoken) > 40]
    prompts = [p.number for p in said if p.is_prompt]
    if len(prompts) < 2:
        return None
    cut = rng.choice(prompts[1:])
    asked: list[str] = []
    for turn in ([p for p in said if p.number < cut], [p for p in said if p.number >= cut]):
        found = [word for word in _content(rng.choice(turn).spoken, rng) if word not in asked]
        if len(found) < 2:
            return None
        asked += _some(found, 2, rng)
    if library.holders([word] for word in asked) or library.holders_anywhere(asked) != {session}:
        return None
    return " ".join(asked)


def _project(library: Library, session: str, rng: Random) -> str | None:
    project, branch = library.projects.get(session, ""), library.branches.get(session, "")
    name = rng.choice((project, project, branch)) if len(branch) > 8 else project
    passage = _spoken(library, session, rng)
    found = _content(passage.spoken, rng) if passage else []
    if len(name) < 4 or len(found) < 2:
        return None
    asked = _some(found, rng.choice((1, 2)), rng)
    fits = {
        one
        for one in library.holders([word] for word in asked)
        if name in (library.projects.get(one), library.branches.get(one))
    }
    if fits != {session} or library.holders([word] for word in words(" ".join([name, *asked]))) - {session}:
        return None
    return " ".join([name, *asked])


def _typing(library: Library, session: str, rng: Random) -> str | None:
    chosen = _chosen(library, session, rng, 3)
    long = [at for at, word in enumerate(chosen or ()) if len(word) > 5]
    if not chosen or not long:
        return None
    at = rng.choice(long)
    asked = [*chosen[:at], _mistyped(chosen[at], rng), *chosen[at + 1 :]]
    own, other = library.most(session, asked)
    return " ".join(asked) if asked != chosen and other < max(own, 2) else None


def _mistyped(word: str, rng: Random) -> str:
    """Return a word with one letter dropped, doubled, replaced, or exchanged with the next; never the first."""
    at = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    other = rng.choice("abcdefghijklmnopqrstuvwxyz".replace(letter, ""))
    return (
        before + rng.choice(("", letter * 2, other)) + after
        if rng.random() < 0.7
        else before + after[0] + letter + after[1:]
    )


KINDS: dict[str, tuple[int, Draw]] = {
    "exact": (50, _exact),
    "inflected": (40, _inflected),
    "wrong word": (40, _wrong_word),
    "synonym": (40, _synonym),
    "identifier": (40, _identifier),
    "path": (30, _path),
    "error text": (30, _error),
    "cjk": (30, _wide),
    "accents": (30, _accents),
    "scattered": (30, _scattered),
    "project": (30, _project),
    "typing error": (30, _typing),
}
