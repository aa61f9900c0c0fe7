"""Secrets to plant: made up from the formats that their issuers document, each in disguises in which transcripts hold them.

Seeded, so the same seed plants the same. It shares no code with clew, and some kinds are here that clew has no rule for.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL = LETTERS + "_-"
BASE64 = LETTERS + "+/"

# What stands in front of the secret and behind it, and what it is made of: an alphabet and how many of it.
KINDS: dict[str, tuple[str, str, str]] = {
    "anthropic": ("sk-ant-api03-{}AA", URL, "93"),
    "openai": ("sk-proj-{}", URL, "74@74"),
    "aws key id": ("AKIA{}", string.ascii_uppercase + "234567", "16"),
    "aws secret": ("aws_secret_access_key = {}", BASE64, "40"),
    "github classic": ("ghp_{}", LETTERS, "36"),
    "github fine-grained": ("github_pat_{}", LETTERS, "22_59"),
    "gitlab": ("glpat-{}", URL, "20"),
    "slack bot": ("xoxb-{}", string.digits, "12-13-12"),
    "slack webhook": ("https://hooks.slack.com/services/T{}", UPPER, "10/11/24"),
    "google api": ("AIza{}", URL, "35"),
    "google oauth": ("GOCSPX-{}", URL, "28"),
    "azure storage": ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={}==;EndpointSuffix=x", BASE64, "86"),
    "azure sql": ("Server=tcp:shop;Database=a;User ID=sa;Password={};Encrypt=True", LETTERS, "16"),
    "stripe": ("sk_live_{}", LETTERS, "24"),
    "stripe webhook": ("whsec_{}", LETTERS, "32"),
    "npm": ("npm_{}", LETTERS, "36"),
    "pypi": ("pypi-AgEIcHlwaS5vcmc{}", URL, "150"),
    "hugging face": ("hf_{}", string.ascii_letters, "34"),
    "sendgrid": ("SG.{}", URL, "22.43"),
    "twilio": ("SK{}", HEX, "32"),
    "digitalocean": ("dop_v1_{}", HEX, "64"),
    "telegram": ("7123456789:AA{}", URL, "33"),
    "discord": ("MTE4{}", URL, "22.6.38"),
    "vault": ("hvs.{}", URL, "95"),
    "shopify": ("shpat_{}", HEX, "32"),
    "databricks": ("dapi{}", HEX, "32"),
    "docker": ("dckr_pat_{}", URL, "27"),
    "grafana": ("glsa_{}", HEX, "32_8"),
    "json web token": ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{}", URL, "80.43"),
    "private key": ("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", BASE64, "64\n64\n64\n64"),
    "password in env": ("DB_PASSWORD={}", LETTERS, "14"),
    "password in yaml": ("database:\n  password: {}\n", LETTERS, "14"),
    "odd password in yaml": ("database:\n  password: {}\n", LETTERS, "7!7"),
    "password in url": ("postgres://shop:{}@db.example.com:5432/shop", LETTERS, "14"),
    "bearer header": ("Authorization: Bearer {}", LETTERS, "48"),
    "cookie header": ("Cookie: session={}", LETTERS, "40"),
    "datadog": ("DD_API_KEY={}", HEX, "32"),
    "cloudflare": ("export CLOUDFLARE_API_TOKEN={}", URL, "40"),
    "heroku": ("HEROKU_API_KEY={}", HEX, "8-4-4-4-12"),
    "airtable": ("pat{}", HEX, "14.64"),
    "brevo": ("xkeysib-{}", HEX, "64-16"),
    "pulumi": ("pul-{}", HEX, "40"),
    "prefect": ("pnu_{}", LETTERS, "36"),
    "shippo": ("shippo_live_{}", HEX, "40"),
    "readme": ("rdme_{}", HEX, "70"),
}


# What looks like a secret and is none: names, hashes, places to fill in, code that speaks of secrets.
DECOYS: tuple[tuple[str, str, str], ...] = (
    ("commit {}", HEX, "40"),
    ("sha256:{}", HEX, "64"),
    ('"integrity": "sha512-{}=="', BASE64, "86"),
    ("request {} done", HEX, "8-4-4-4-12"),
    ("toolu_{}", LETTERS, "24"),
    ("etag: {}", HEX, "32"),
    ("data:image/png;base64,{}", BASE64, "400"),
    ("API_KEY=your-key-here # {}", string.ascii_lowercase, "8"),
    ("password: ${{DB_PASSWORD}} # {}", string.ascii_lowercase, "8"),
    ("token = os.environ['TOKEN_{}']", string.ascii_uppercase, "6"),
    ("self.token = token  # {}", string.ascii_lowercase, "8"),
    ("def authenticate(password: str, token: str) -> {}:", string.ascii_lowercase, "8"),
    ("const apiKey = process.env.API_KEY_{};", string.ascii_uppercase, "6"),
    ("postgres://localhost:5432/{}", string.ascii_lowercase, "8"),
    ('<input type="password" name="password" id="{}">', string.ascii_lowercase, "8"),
    ("input_tokens: {}", string.digits, "5"),
    ("Error: invalid token at position {}", string.digits, "3"),
    ("key={} value=3", string.ascii_lowercase, "6"),
    ("sk-learn-{}", string.ascii_lowercase, "6"),
    ("see https://example.com/docs/{}?token=TOKEN", string.ascii_lowercase, "8"),
)
EACH = 20


@dataclass(frozen=True, slots=True)
class Planted:
    """A line that holds a secret, and the characters of which none may be left, as the disguise writes them."""

    kind: str
    disguise: str
    line: bytes
    letters: str


def plant(seed: int) -> Iterator[Planted]:
    """Every kind in every disguise."""
    pen = Random(f"{seed}:secrets")
    for kind, (frame, alphabet, shape) in KINDS.items():
        for disguise, (wear, letters) in DISGUISES.items():
            core = _core(pen, alphabet, shape)
            text = frame.format(core)
            yield Planted(kind, disguise, wear(text, text.index(core) + len(core) // 2), letters(text, core))


def decoys(seed: int) -> Iterator[bytes]:
    """Lines that hold no secret, though they look like it."""
    pen = Random(f"{seed}:decoys")
    for frame, alphabet, shape in DECOYS:
        for _ in range(EACH):
            yield _entry(_result(frame.format(_core(pen, alphabet, shape))))


def remains(planted: Planted, line: bytes) -> bool:
    """Whether twelve characters in a row of a secret are left in the texts of a line, or six if it was split."""
    width = 6 if planted.disguise == "split" else 12
    texts = decoded(line)
    letters = planted.letters
    return any(letters[at : at + width] in texts for at in range(max(1, len(letters) - width + 1)))


def decoded(line: bytes) -> str:
    """All texts and names of a line."""
    return "\n".join(_texts(json.loads(line)))


def _core(pen: Random, alphabet: str, shape: str) -> str:
    """As many letters as each number says, with what stands between the numbers; `@` is what OpenAI puts there."""
    made, number = "", ""
    for sign in f"{shape}\0":
        if sign.isdigit():
            number += sign
        else:
            made += "".join(pen.choices(alphabet, k=int(number))) + ("T3BlbkFJ" if sign == "@" else sign)
            number = ""
    return made[:-1]


def _entry(content: Any, **more: Any) -> bytes:
    entry = {"type": "user", "sessionId": "3f2a0c5e-0000-4000-8000-000000000001", "cwd": "/home/ann/shop"}
    return json.dumps({**entry, "message": {"role": "user", "content": content}, **more}, ensure_ascii=False).encode()


def _result(text: str) -> list[dict[str, Any]]:
    return [
        {"type": "tool_result", "tool_use_id": "toolu_01", "content": f"$ cat notes\nfirst line\n{text}\nlast line\n"}
    ]


def _escaped(text: str, _: int) -> bytes:
    return _entry("@@").replace(b"@@", "".join(f"\\u{ord(letter):04x}" for letter in f"look: {text}").encode())


def _split(text: str, middle: int) -> bytes:
    halves = (f"I use\n{text[:middle]}", f"{text[middle:]}\nfor this.", "And so on.")
    return _entry([{"type": "text", "text": half} for half in halves])


def _base64(text: str) -> str:
    return base64.b64encode(f"# settings\n{text}\n# end of settings\n".encode()).decode()


def _base64_letters(text: str, core: str) -> str:
    """The letters that come of the secret alone: whole groups of three bytes, without the first and the last."""
    start = len("# settings\n") + text.index(core)
    return _base64(text)[-(-start // 3) * 4 : (start + len(core)) // 3 * 4]


def _as_is(_: str, core: str) -> str:
    return core


Wear = Callable[[str, int], bytes]
DISGUISES: dict[str, tuple[Wear, Callable[[str, str], str]]] = {
    "plain": (lambda text, _: _entry(_result(text)), _as_is),
    "twice": (lambda text, _: _entry(_result(text), toolUseResult={"stdout": text, "stderr": ""}), _as_is),
    "quoted": (
        lambda text, _: _entry(_result(json.dumps({"out": f"a {text}"}))),
        lambda _, core: json.dumps(core)[1:-1],
    ),
    "escaped": (_escaped, _as_is),
    "split": (_split, _as_is),
    "base64": (lambda text, _: _entry(_result(_base64(text))), _base64_letters),
    "name": (lambda text, _: _entry("hi", toolUseResult={"env": {text: 1}}), _as_is),
    "percent": (
        lambda text, _: _entry(_result(f"GET https://example.com/go?to={quote(text, safe='')} HTTP/1.1")),
        lambda _, core: quote(core, safe=""),
    ),
}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, child in value.items():
            yield name
            yield from _texts(child)
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child)
