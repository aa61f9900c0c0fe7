"""Text for the benchmark corpus: a made-up vocabulary and a pen that writes with it.

Everything is drawn from a seeded `random.Random`; nothing comes from a real transcript. Words follow Zipf's
law: a table of 65,536 slots holds each word as often as its rank asks for, so that two random bytes are one
draw. A second table of rare words gives the long tail. Generated words never contain `q` or `x`: those
belong to the needles.
"""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

SLOTS = 1 << 16
COMMON = """
the to of a and in is it for that this with on be we as not are from if by can or an at when so but which
was then will one should all now file test code line use new set add run first value return same still name
"""
ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl gr pl pr sh sl sp st str th tr"
VOWELS = "a e i o u ai ea ee io ou"
CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "nd", "st", "rt", "ck", "ng"]
EMOJI = ["✅", "🚀", "⚠️", "🎉", "🐛", "👍", "→", "—", "“", "…", "😀"]
ALNUM = b"0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
HEADINGS = ("## {}\n\n", "### {}\n\n", "**{}**\n\n")

CODE = {
    "py": (
        "def {a}({b}: str, {c}: int = {n}) -> {d} | None:",
        "    {a} = {b}.{c}({d}, limit={n})",
        '    if not {a} or {b}["{c}"] > {n}:',
        '        raise {d}(f"{a} of {{{b}}} is not {c}")',
        "    return [{a} for {a} in {b} if {a}.{c}]",
        "",
        "    # {w}",
        "class {d}({a}):",
        '    """{w}."""',
        '    {a}: dict[str, {d}] = {{"{b}": {n}, "{c}": {n}}}',
        "    with {a}.{b}() as {c}:",
        "        {c}.write(b'\\x{n:02x}\\n')",
    ),
    "ts": (
        "export const {a} = async ({b}: {d}): Promise<{d}[]> => {{",
        '  const {a} = await {b}.{c}("{a}", {{ limit: {n} }});',
        "  if ({a} === undefined || {b}.{c}.length > {n}) {{",
        "    throw new {d}(`{a}: ${{{b}}}`);",
        "  }}",
        "}};",
        "",
        "// {w}",
        "  return {a}.map(({b}) => ({{ ...{b}, {c}: {n} }}));",
        'import {{ {a}, {b} }} from "./{c}";',
        "\t/* {w} */",
    ),
    "go": (
        "func ({a} *{d}) {b}({c} string) (int, error) {{",
        "\t{a}, err := {b}.{c}(ctx, {n})",
        "\tif err != nil {{",
        '\t\treturn 0, fmt.Errorf("{a} %q: %w", {b}, err)',
        "\t}}",
        "}}",
        "",
        "\t// {w}",
        '\tlog.Printf("{a}=%d {b}=%s\\n", {a}, {b})',
        '\t{a} map[string]{d} `json:"{b},omitempty"`',
    ),
}
LOGS = (
    "2026-0{m}-1{m}T0{m}:1{m}:{n:02d}.{k:03d}Z INFO  {a}.{b}: {w} {c}={k}",
    "2026-0{m}-1{m}T0{m}:1{m}:{n:02d}.{k:03d}Z \x1b[33mWARN\x1b[0m {a}.{b}: {w} (attempt {m})",
    "[{k}] \x1b[31mERROR\x1b[39m {a}: cannot {w} id={h}",
    "tests/test_{a}.py::test_{b} \x1b[32mPASSED\x1b[0m [{n:3d}%]",
    "tests/test_{a}.py::test_{b}_{c} FAILED - assert {k} == {n}",
    'src/{a}/{b}.ts({k},{m}): error TS2{k:03d}: "{c}" is not {w}',
    "-rw-r--r-- 1 dev staff {k:6d} Mar {m:2d} 1{m}:{n:02d} {a}_{b}.json",
    "{h} {a}: {w}",
    '{{"level":"info","{a}":"{b}","took_ms":{k},"path":"C:\\\\{c}\\\\{b}.log"}}',
    "  {a}/{b}/{c}.rs | {n:3d} ++++++++-----",
    "   Compiling {a}-{b} v0.{m}.{n}",
)


class Lexicon:
    """The words of one corpus, made once and shared by every pen."""

    def __init__(self, seed: int) -> None:
        rng = Random(f"{seed}:lexicon")
        words = _pseudo_words(rng, 45_000, COMMON.split())
        self.names = [word for word in words[60:9000] if 3 < len(word) < 9]
        self.common = _punctuate(_zipf(words), rng)
        self.rare = [words[4000 + int(rng.random() * (len(words) - 4000))] for _ in range(SLOTS)]
        self.identifiers = [_identifier(self.names, rng) for _ in range(8192)]
        self.han = _han(rng)


class Pen:
    """A lexicon with a source of chance: the same seed writes the same text."""

    def __init__(self, lexicon: Lexicon, rng: Random) -> None:
        self.lexicon = lexicon
        self.rng = rng

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def below(self, limit: int) -> int:
        return int(self.rng.random() * limit)

    def between(self, low: int, high: int) -> int:
        return low + int(self.rng.random() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.rng.random() * len(options))]

    def spread(self, median: float, sigma: float, low: int, high: int) -> int:
        """A log-normal size, kept inside its bounds."""
        return int(min(max(low, self.rng.lognormvariate(math.log(median), sigma)), max(low, high)))

    def uuid(self) -> str:
        digits = f"{self.rng.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def token(self, length: int) -> str:
        """Letters and digits, as in message ids."""
        return self.rng.randbytes(length).translate(_TO_ALNUM).decode()

    def hexadecimal(self, length: int) -> str:
        return self.rng.randbytes((length + 1) // 2).hex()[:length]

    def base64(self, size: int) -> str:
        return base64.b64encode(self.rng.randbytes(size)).decode()

    def identifier(self) -> str:
        return self.lexicon.identifiers[self.rng.getrandbits(13)]

    def name(self) -> str:
        return self.pick(self.lexicon.names)

    def words(self, count: int) -> str:
        """Words in a row, as they come."""
        draws = self._draw(self.lexicon.common, count)
        draws[::13] = self._draw(self.lexicon.rare, len(draws[::13]))
        return " ".join(draws)

    def sentence(self, count: int) -> str:
        text = self.words(max(1, count))
        return text[:1].upper() + text[1:] + "."

    def title(self) -> str:
        return " ".join(self.name().capitalize() for _ in range(self.between(2, 5)))

    def han(self, count: int) -> str:
        """A run of East Asian characters without a space."""
        return "".join(self._draw(self.lexicon.han, max(2, count)))

    def markdown(self, count: int) -> str:
        """About so many words as an assistant would lay them out."""
        parts: list[str] = []
        while count > 0:
            size = min(count, self.between(12, 70))
            parts.append(self._passage(size))
            count -= size
        return "\n\n".join(parts)

    def code(self, count: int, style: str) -> list[str]:
        forms = CODE[style]
        return [self._fill(self.pick(forms)) for _ in range(count)]

    def log(self, size: int) -> str:
        """Output of programs, about so many characters, never more than a line over."""
        lines: list[str] = []
        form = self.pick(LOGS)
        while size > 0:
            if self.chance(0.1):
                form = self.pick(LOGS)
            line = self._fill(form)
            lines.append(line)
            size -= len(line) + 1
        return "\n".join(lines)

    def _passage(self, size: int) -> str:
        roll = self.rng.random()
        if roll < 0.12:
            body = "\n".join(self.code(max(2, size // 8), self.pick(("py", "ts", "go"))))
            return f"```\n{body}\n```"
        if roll < 0.35:
            return "\n".join(f"- `{self.identifier()}`: {self.words(8)}" for _ in range(max(1, size // 9)))
        heading = self.pick(HEADINGS).format(self.title()) if roll > 0.85 else ""
        close = f" {self.pick(EMOJI)}" if roll > 0.95 else ""
        return heading + self.sentence(size) + close

    def _fill(self, form: str) -> str:
        idents, bits, below = self.lexicon.identifiers, self.rng.getrandbits, self.below
        return form.format(
            a=idents[bits(13)],
            b=idents[bits(13)],
            c=idents[bits(13)],
            d=idents[bits(13)].capitalize(),
            w=self.words(6) if "{w}" in form else "",
            h=f"{bits(40):010x}" if "{h}" in form else "",
            n=below(60),
            k=below(1000),
            m=1 + below(9),
        )

    def _draw(self, table: Sequence[str], count: int) -> list[str]:
        slots = array("H", self.rng.randbytes(2 * count))
        return [table[slot] for slot in slots]


_TO_ALNUM = bytes(ALNUM[byte % len(ALNUM)] for byte in range(256))


def _pseudo_words(rng: Random, count: int, common: list[str]) -> list[str]:
    """The common words, then made-up ones."""
    onsets, vowels = ONSETS.split(), VOWELS.split()
    seen = set(common)
    words: list[str] = []
    while len(words) < count:
        syllables = 1 + (rng.random() < 0.8) + (rng.random() < 0.35)
        word = "".join(rng.choice(onsets) + rng.choice(vowels) + rng.choice(CODAS) for _ in range(syllables))
        if word not in seen:
            seen.add(word)
            words.append(word)
    words[:3000] = sorted(words[:3000], key=len)  # what is said often is short
    return common + words


def _zipf(words: Sequence[str]) -> list[str]:
    """Each word in as many slots as its rank asks for; of the rarest, every so-manieth."""
    weights = [1.0 / (rank + 2.7) ** 1.07 for rank in range(len(words))]
    scale = SLOTS / sum(weights)
    slots: list[str] = []
    reached = 0.0
    for word, weight in zip(words, weights, strict=True):
        reached += weight * scale
        slots.extend([word] * (int(reached) - len(slots)))
    return (slots + slots[:16])[:SLOTS]


def _punctuate(slots: list[str], rng: Random) -> list[str]:
    """Turn one slot in eight into the join of two words: commas, full stops, paragraphs, marks, emoji."""
    whole = list(slots)
    for at in range(0, SLOTS, 8):
        other, roll = whole[int(rng.random() * SLOTS)], rng.random()
        if roll < 0.35:
            slots[at] = f"{slots[at]}, {other}"
        elif roll < 0.8:
            slots[at] = f"{slots[at]}. {other.capitalize()}"
        elif roll < 0.88:
            slots[at] = f"`{slots[at]}_{other}`"
        elif roll < 0.94:
            slots[at] = f'"{slots[at]} {other}"'
        elif roll < 0.99:
            slots[at] = f"{slots[at]}.\n\n{other.capitalize()}"
        else:
            slots[at] = f"{slots[at]} {rng.choice(EMOJI)}"
    slots[8], slots[16] = "next\u0085line", "para\u2028graph"  # found in real files; only `\n` ends a line
    return slots


def _identifier(names: Sequence[str], rng: Random) -> str:
    one, two = rng.choice(names), rng.choice(names)
    roll = rng.random()
    if roll < 0.5:
        return f"{one}_{two}"
    return one if roll < 0.7 else one + two.capitalize()


def _han(rng: Random) -> list[str]:
    """A table of characters as uneven as the words; U+8600 and after is kept for the needles."""
    han = [chr(0x4E00 + int(rng.random() * 0x3200)) for _ in range(1500)]
    kana = [chr(0x3042 + at) for at in range(0x50)]
    hangul = [chr(0xAC00 + 28 * int(rng.random() * 390)) for _ in range(60)]
    table = [han[int(rng.random() ** 2 * len(han))] for _ in range(SLOTS)]
    table[:6000] = [rng.choice(kana) for _ in range(6000)]
    table[6000:7000] = [rng.choice(hangul) for _ in range(1000)]
    table[7000:9500] = [rng.choice("、。，：") for _ in range(2500)]
    return table
