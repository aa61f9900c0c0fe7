"""Find secrets that prose states (`mein Passwort ist …`) or that names in other languages announce (`contraseña: …`).

Each row of `_WORDS` is one word for a password, a key or a token. It is searched only where its literal occurs.
"""

from __future__ import annotations

from clew.facts.secrets.secret_formats import contains_in, group_by_core, positions
from clew.facts.secrets.secret_rules import Expression, SecretName, Style, is_secret_in_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match

_PASSWORD = SecretName("password", True)
_MAYBE_PASSWORD = SecretName("password", False)
_KEY = SecretName("api-key", False)
_TOKEN = SecretName("token", False)
_SECRET = SecretName("secret", False)

_QUALIFIED = (
    r"(?:d['’]|de[ _-]|di[ _-])?"
    r"(?:api|secr[eè]te|secreta|segreta|priv[ée]e|privada|privata|acc[eè]s|acesso|acceso|accesso)"
)

# The literal (in lower case if it is ASCII), the pattern around it, and what the word announces.
_WORDS: tuple[tuple[str, str, SecretName], ...] = (
    ("passwor", r"passwor[dt]", _PASSWORD),
    ("passphrase", "passphrase", _PASSWORD),
    ("kennwort", "kennwort", _PASSWORD),
    ("de passe", "mot de passe", _PASSWORD),
    ("de_passe", "mot_de_passe", _PASSWORD),
    ("depasse", "motdepasse", _PASSWORD),
    ("palavra", "palavra[ _-]?passe", _PASSWORD),
    ("contrase", r"contrase(?:ñ|n|n\u0303)as?", _PASSWORD),
    ("senha", r"(?<![a-z])senhas?", _PASSWORD),
    ("parola d", r"parola d['’ ]?ordine", _PASSWORD),
    ("mdp", r"(?<![a-z])mdp(?![a-z])", _MAYBE_PASSWORD),
    ("clave", r"(?<![a-z])clave", _MAYBE_PASSWORD),
    ("api key", r"api key", _KEY),
    ("schl", r"(?:api|zugangs|zugriffs|geheim)[ _-]?(?:er |e )?schl(?:ü|u\u0308|ue)ssel", _KEY),
    ("cle_", rf"cle_{_QUALIFIED}", _KEY),
    ("chave", rf"chave[ _-]{_QUALIFIED}", _KEY),
    ("chiave", rf"chiave[ _-]{_QUALIFIED}", _KEY),
    ("jeton", "jeton", _TOKEN),
    ("secreto", "secreto", _SECRET),
    ("segredo", "segredo", _SECRET),
    ("segreto", "segreto", _SECRET),
    ("geheimnis", "geheimnis", _SECRET),
)
_WIDE_WORDS: tuple[tuple[str, str, SecretName], ...] = (
    ("clé", rf"clé[ _-]{_QUALIFIED}", _KEY),
    ("арол", r"парол[а-яё]{1,3}", _PASSWORD),
    ("АРОЛ", r"парол[а-яё]{1,3}", _PASSWORD),
    ("ключ", r"(?:api|секретн\w{2}|закрыт\w{2}|приватн\w{2})[ _-]?ключ|ключ[ _-](?:api|доступа)", _KEY),
    ("окен", r"токен[а-я]{0,2}", _TOKEN),
    ("екрет", r"секрет[а-я]{0,2}", _SECRET),
    ("密码", "密码", _PASSWORD),
    ("密碼", "密碼", _PASSWORD),
    ("口令", "口令", _PASSWORD),
    ("钥", r"[密秘私]钥", _KEY),
    ("鑰", r"[密秘私金]鑰", _KEY),
    ("令牌", "令牌", _TOKEN),
    ("パスワード", "パスワード", _PASSWORD),
    ("秘密鍵", "秘密鍵", _KEY),
    ("キー", r"(?:api|アクセス|シークレット)[ _-]?キー", _KEY),
    ("トークン", "トークン", _TOKEN),
)
# Case is ignored in the words alone: ignoring it in a class with 20,000 characters takes 10 ms to compile.
_STATEMENT = Expression(
    r"\w{0,16}?(?:[ \t][^\r\n:=：\"'`。\0]{0,40}?)?\\{0,4}[\"'`»”」』]?\s{0,4}"
    r"(?:(?P<sign>:=|=>|={1,2}|[:：＝])|\b(?i:is|was|lautet|ist|war|est|es|é|è|era|это)\b|[は是为為—–])\s{0,4}"
    r"(?P<quote>\\{0,4}[\"'`«„“「『])?"
    r"(?P<value>[^\s\"'`«»„“”‚‘’「」『』（）、。，；：<>\u3040-\u30ff\u4e00-\u9fff\0]{6,200}+)",
)
_LOOK_BACK = 20
_LOOK_AHEAD = 340
_ENDS = Expression(r"\\+[nrt\"'`]|</|[,;&)}\]>]")


class _Word:
    """One row of the table: the literal as bytes and text, its expression, and what it announces."""

    __slots__ = ("expression", "kind", "literal", "start", "text")

    def __init__(self, text: str, pattern: str, kind: SecretName) -> None:
        self.text, self.literal, self.kind = text, text.encode(), kind
        self.expression = Expression(pattern, "i")
        before = pattern.lower().partition(text.lower())[0].removeprefix("(?<![a-z])")
        self.start = len(before) if not before.strip("abcdefghijklmnopqrstuvwxyzпст _") else -1

    def match(self, canvas: str, at: int) -> tuple[str, Match[str]] | None:
        """Match the word whose literal is at a position, and what is stated after it: one expression for all words,
        because it takes long to compile.
        """
        if self.start >= 0:
            name = self.expression.compiled.match(canvas, max(0, at - self.start))
        else:
            around = self.expression.compiled.finditer(canvas, max(0, at - _LOOK_BACK), at + _LOOK_AHEAD)
            name = next((each for each in around if each.start() <= at <= each.end()), None)
        statement = _STATEMENT.compiled.match(canvas, name.end()) if name else None
        return (name[0], statement) if name and statement else None


_ASCII_TABLE = group_by_core(tuple(_Word(*row) for row in _WORDS), lambda word: word.literal)
_WIDE_TABLES = tuple(  # by the first byte of a script, which most texts lack
    (sign, tuple(_Word(*row) for row in _WIDE_WORDS if sign in row[0].encode()[:3]))
    for sign in sorted({bytes([next(byte for byte in row[0].encode() if byte > 127)]) for row in _WIDE_WORDS})
)


def words_in(lower: bytes, is_ascii: bool) -> list[_Word]:
    """Return the words whose literal occurs in a text, which is given as lower-case bytes."""
    contains = contains_in(lower)
    words = [
        word for core, table in _ASCII_TABLE if contains(lower, core) for word in table if contains(lower, word.literal)
    ]
    for sign, table in () if is_ascii else _WIDE_TABLES:
        if contains(lower, sign):
            words += (word for word in table if contains(lower, word.literal))
    return words


def find_stated(canvas: str, folded: str | bytes, word: _Word) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, rule) of the values that a text states for this word."""
    done = 0
    for at in positions(folded, word.text):
        if at < done:
            continue
        if not (matched := word.match(canvas, at)):
            continue
        name, found = matched
        start, end = found.span("value")
        stop = _ENDS.compiled.search(canvas, start, end)
        end = stop.start() if stop else end
        if found["quote"] is None:
            end = start + len(canvas[start:end].rstrip(".,;:?\\"))
        value = canvas[start:end]
        style = Style.QUOTED if found["quote"] and found["sign"] else Style.BARE
        if found["sign"] == "=" and name.isupper():
            style = Style.PLAIN
        if _reads_as_value(value, bool(found["sign"])) and is_secret_in_text(value, word.kind, style):
            done = end
            yield start, end, word.kind.rule


def _reads_as_value(value: str, is_assigned: bool) -> bool:
    """Return False for words: a value without ASCII letters or digits, or a word after "is"."""
    if value.isascii():
        return is_assigned or not value.isalpha()
    return any(map(str.isdigit, value)) and any(letter.isascii() and letter.isalnum() for letter in value)


_KEY_ENDINGS = {
    "passwort": _PASSWORD,
    "kennwort": _PASSWORD,
    "motdepasse": _PASSWORD,
    "palavrapasse": _PASSWORD,
    "contraseña": _PASSWORD,
    "contrasena": _PASSWORD,
    "senha": _PASSWORD,
    "пароль": _PASSWORD,
    "密码": _PASSWORD,
    "密碼": _PASSWORD,
    "口令": _PASSWORD,
    "パスワード": _PASSWORD,
    "mdp": _MAYBE_PASSWORD,
    "clave": _MAYBE_PASSWORD,
    "schlüssel": _KEY,
    "schluessel": _KEY,
    "cléapi": _KEY,
    "cleapi": _KEY,
    "chaveapi": _KEY,
    "chiaveapi": _KEY,
    "ключ": _KEY,
    "密钥": _KEY,
    "秘密鍵": _KEY,
    "apiキー": _KEY,
    "токен": _TOKEN,
    "令牌": _TOKEN,
    "トークン": _TOKEN,
    "jeton": _TOKEN,
}
_ENDINGS = tuple(_KEY_ENDINGS)
_JOINTS = str.maketrans("", "", " _-'’.")


def classify_foreign_name(name: str) -> SecretName | None:
    """Return what a key in another language than English announces, or None."""
    joined = name.translate(_JOINTS).lower()
    if len(name) > 80 or not joined.endswith(_ENDINGS):
        return None
    return next(kind for ending, kind in _KEY_ENDINGS.items() if joined.endswith(ending))
