"""Tables of secret formats, secret names and harmless values.

A new kind of secret is one more row here, or in `context_rules` if the text before it identifies it. A search masks
its output, so importing this is light: a regular expression is compiled on first use, and most texts need none.
"""

from __future__ import annotations

from collections import Counter
from math import log2

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

WALL = "\0"  # stands for text that is already masked; no pattern may match across it

_OPAQUE = r"[A-Za-z0-9_-]"


class Expression:
    """A regular expression that is compiled on first use; `flags` are inline flags such as "ai"."""

    __slots__ = ("_compiled", "_flags", "text")

    def __init__(self, text: str, flags: str = "") -> None:
        self.text = text
        self._flags = flags
        self._compiled: Pattern[str] | None = None

    @property
    def compiled(self) -> Pattern[str]:
        if self._compiled is None:
            import re

            self._compiled = re.compile(f"(?{self._flags}){self.text}" if self._flags else self.text)
        return self._compiled


class SecretRule:
    """One known format: its regex runs only where a literal occurs, and its groups (if any) are the secret.

    `floor` is the least Shannon entropy of the value, in bits per character. If `folded`, the literals are lower
    case, and the regex is tried, ignoring case, at each occurrence of one. If `judged`, the format also fits
    ordinary words, so the value must not read as words. `also` is a second literal that must be in the text. If
    `anchored`, every match begins with a literal.
    """

    __slots__ = ("also", "anchored", "expression", "floor", "folded", "judged", "literals", "name")

    def __init__(
        self,
        name: str,
        literals: tuple[str, ...],
        pattern: str,
        *,
        floor: float = 0.0,
        folded: bool = False,
        judged: bool = False,
        also: str = "",
        anchored: bool = False,
    ) -> None:
        self.name, self.literals, self.expression = name, literals, Expression(pattern, "ai" if folded else "a")
        self.floor, self.folded, self.judged, self.also, self.anchored = floor, folded, judged, also, anchored


def _after_boundary(width: int) -> str:
    """Return a lookbehind placed after a literal prefix of this width, where the prefix search stays fast."""
    return rf"(?<![A-Za-z0-9_].{{{width}}})"


def _prefixed(name: str, *prefixes: str, body: str = r"[A-Za-z0-9_-]{20,}+", judged: bool = False) -> SecretRule:
    """Return the rule for the common case: a fixed prefix at a word boundary and an opaque body up to its end."""
    starts = "|".join(prefix.replace(".", r"\.") + _after_boundary(len(prefix)) for prefix in prefixes)
    is_single = len(prefixes) == 1
    pattern = starts + body if is_single else f"(?:{starts}){body}"
    return SecretRule(name, prefixes, pattern, judged=judged, anchored=is_single)


# The first of two rules that claim the same text names it, so the more specific come first.
RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "private-key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?=(?:[^-\0]|-(?!----)){0,300}?[A-Za-z0-9+/=]{16})[^-\0]*+(?:-(?!----)[^-\0]*+)*+"
        r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\\[nr]|[\s\"'+,])*+[A-Za-z0-9+/=]{20,}+)++)",
    ),
    _prefixed("anthropic-key", "sk-ant-", body=r"[A-Za-z0-9_-]{12,}+"),
    _prefixed("openrouter-key", "sk-or-v1-"),
    _prefixed("openai-key", "sk-proj-", "sk-svcacct-", "sk-admin-"),
    _prefixed("openai-key", "sk-", body=r"[A-Za-z0-9]{20,}+[A-Za-z0-9_-]*+", judged=True),
    SecretRule("aws-key-id", ("AKIA", "ASIA"), r"A(?:KI|SI)A" + _after_boundary(4) + r"[A-Z0-9]{16}(?![A-Za-z0-9_])"),
    _prefixed("github-token", "github_pat_"),
    SecretRule(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        r"gh[pousr]_" + _after_boundary(4) + r"[A-Za-z0-9]{20,}+",
    ),
    _prefixed("gitlab-token", "glpat-", body=r"[A-Za-z0-9_.-]{16,}+"),
    SecretRule("slack-token", ("xox",), r"xox[abeoprs]-" + _after_boundary(5) + r"[A-Za-z0-9-]{10,}+"),
    _prefixed("slack-token", "xapp-", body=r"[A-Za-z0-9-]{16,}+"),
    SecretRule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/+-]{20,}+)",
    ),
    SecretRule("webhook", ("webhooks/",), r"webhooks/\d{10,}+/([A-Za-z0-9_-]{20,}+)"),  # Discord
    SecretRule(
        "webhook",  # Teams, Mattermost and Zapier, Make, IFTTT, Feishu and Lark, WeCom
        ("office.com/webhook", "/hooks/", ".make.com/", "/with/key/", "/bot/v2/hook/", "webhook/send?key="),
        r"(?:office\.com/webhook(?:b2)?/|/hooks/(?:catch/)?(?:\d{4,}+/)?|\.make\.com/|/with/key/|/bot/v2/hook/"
        r"|webhook/send\?key=)((?=[^\s/\0]{0,40}\d)[A-Za-z0-9_@-]{20,}+(?:/[A-Za-z0-9_-]++)*+)",
        anchored=True,
    ),
    SecretRule(
        "password-hash",  # crypt(3), Argon2, scrypt, PBKDF2, LDAP
        ("$1$", "$5$", "$6$", "$2a$", "$2b$", "$2y$", "y$j", "$apr1$", "$argon2", "$scrypt$", "pbkdf2", "{SSHA"),
        r"\$(?:[156]|apr1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,}+"
        r"|\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$g?y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}"
        r"|\$argon2(?:id|i|d)\$(?:v=\d{1,3}\$)?m=[\w=,]{5,40}\$[A-Za-z0-9+/]{8,}+\$[A-Za-z0-9+/]{16,}+=*+"
        r"|\$scrypt\$[\w=,]{5,40}\$[A-Za-z0-9+/.]{8,}+\$[A-Za-z0-9+/.]{16,}+=*+"
        r"|\$?pbkdf2[_-]sha\d{1,3}\$\d{1,9}\$[^\s$\"'\0]{4,64}+\$[A-Za-z0-9+/.=]{20,}+"
        r"|\{SSHA(?:\d{3})?\}([A-Za-z0-9+/]{28,}+=*+)",
    ),
    _prefixed("google-api-key", "AIza", body=r"[A-Za-z0-9_-]{35,}+"),
    _prefixed("google-secret", "GOCSPX-"),
    _prefixed("google-token", "ya29.", body=r"[A-Za-z0-9_.-]{20,}+"),
    SecretRule("azure-sas", ("sig=",), r"sig=(?<=[?&;]sig=)([A-Za-z0-9%/+=_-]{20,}+)"),
    SecretRule(
        "stripe-key",
        ("k_live_", "k_test_"),
        r"[sr]k_(?:live|test)_" + _after_boundary(8) + r"[A-Za-z0-9]{10,}+",
    ),
    _prefixed("stripe-webhook", "whsec_", body=r"[A-Za-z0-9+/=]{16,}+"),
    _prefixed("npm-token", "npm_", body=r"[A-Za-z0-9]{30,}+"),
    _prefixed("pypi-token", "pypi-AgE"),
    _prefixed("huggingface-token", "hf_", body=r"[A-Za-z0-9]{30,}+"),
    SecretRule("twilio-key", ("SK",), r"SK" + _after_boundary(2) + r"[0-9a-f]{32}(?![A-Za-z0-9_])", anchored=True),
    SecretRule("sendgrid-key", ("SG.",), r"SG\." + _after_boundary(3) + rf"{_OPAQUE}{{16,}}+\.{_OPAQUE}{{16,}}+"),
    _prefixed("digitalocean-token", "dop_v1_", "doo_v1_", "dor_v1_", body=r"[0-9a-f]{32,}+"),
    _prefixed("groq-key", "gsk_", body=r"[A-Za-z0-9]{30,}+"),
    _prefixed("xai-key", "xai-", body=r"[A-Za-z0-9]{40,}+"),
    _prefixed("vault-token", "hvs."),
    _prefixed("linear-key", "lin_api_"),
    _prefixed("databricks-token", "dapi", body=r"[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9_])"),
    _prefixed("shopify-token", "shpat_", "shpca_", "shppa_", "shpss_", body=r"[0-9a-fA-F]{32,}+"),
    _prefixed("docker-token", "dckr_pat_", "dckr_oat_"),
    _prefixed("grafana-token", "glsa_", "glc_", body=r"[A-Za-z0-9+/_=]{32,}+"),
    _prefixed("new-relic-key", "NRAK-", body=r"[A-Za-z0-9]{20,}+"),
    _prefixed("sentry-token", "sntrys_", "sntryu_", body=r"[A-Za-z0-9+/=_]{40,}+"),
    _prefixed("replicate-token", "r8_", body=r"[A-Za-z0-9]{30,}+"),
    _prefixed("perplexity-key", "pplx-", body=r"[A-Za-z0-9]{40,}+"),
    _prefixed("supabase-key", "sbp_", "sb_secret_", body=r"[A-Za-z0-9_-]{28,}+"),
    _prefixed("doppler-token", "dp.pt.", "dp.st.", "dp.sa.", body=r"[A-Za-z0-9._-]{40,}+"),
    _prefixed("rubygems-key", "rubygems_", body=r"[0-9a-f]{40,}+"),
    _prefixed("postman-key", "PMAK-", body=r"[0-9a-f]{24}-[0-9a-f]{20,}+"),
    _prefixed("figma-token", "figd_", body=r"[A-Za-z0-9_-]{30,}+"),
    _prefixed("notion-token", "ntn_", body=r"[A-Za-z0-9]{40,}+"),
    _prefixed("planetscale-token", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", body=r"[A-Za-z0-9_.-]{30,}+"),
    _prefixed("square-token", "sq0csp-", "sq0atp-", body=r"[A-Za-z0-9_-]{20,}+"),
    _prefixed("mailgun-key", "key-", body=r"[0-9a-f]{32}(?![A-Za-z0-9_-])"),
    _prefixed("age-key", "AGE-SECRET-KEY-1", body=r"[0-9A-Z]{50,}+"),
    SecretRule(
        "terraform-token", (".atlasv1.",), r"\.atlasv1\.(?:(?<=([A-Za-z0-9]{14})\.atlasv1\.))([A-Za-z0-9_=-]{50,}+)"
    ),
    _prefixed("atlassian-token", "ATATT3", body=r"[A-Za-z0-9_=-]{40,}+"),
    SecretRule("telegram-token", (":AA",), r":(AA(?<=[0-9]{8}:AA)[A-Za-z0-9_-]{30,}+)"),
    SecretRule(
        "discord-token",  # a bot's number in base64, whose 17 to 19 digits make 23, 24 or 26 characters
        tuple(first + second for first in "MNO" for second in "DTjz"),
        rf"\.(?={_OPAQUE}{{6}}\.)(?:(?<=([MNO][DTjz]{_OPAQUE}{{24}})\.)|(?<=([MNO][DTjz]{_OPAQUE}{{22}})\.)"
        rf"|(?<=([MNO][DTjz]{_OPAQUE}{{21}})\.))({_OPAQUE}{{6}}\.{_OPAQUE}{{27,}}+)",
    ),
    SecretRule(
        "jwt",
        ("eyJ",),
        r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"
        r"(?:\.[A-Za-z0-9_-]++){0,2}",
        anchored=True,
    ),
)


class SecretName:
    """A key name that announces a secret; a strong one counts even if the value is an ordinary word.

    If `path`, the same name is used for files and folders, so a path under it is not a secret.
    """

    __slots__ = ("path", "rule", "strong")

    def __init__(self, rule: str, strong: bool, path: bool = False) -> None:
        self.rule, self.strong, self.path = rule, strong, path


_AWS_SECRET = SecretName("aws-secret-key", True)
_AWS_SECRET_SIZE = 40  # characters, possibly without a digit
_PASSWORD = SecretName("password", True)
_SECRET = SecretName("secret", True)
_TOKEN = SecretName("token", False)

# Matched against the end of the name in snake case; the first that fits wins.
_ENDINGS: tuple[tuple[str, SecretName], ...] = (
    (r"secret_?access_?key|aws_?secret(?:_?key)?", _AWS_SECRET),
    (r"passw(?:or)?ds?|passwort|passphrase|passcode|(?:^|_)pass", _PASSWORD),
    (r"pwd", SecretName("password", True, path=True)),
    (r"secrets?|secret_?key(?:_?base)?", _SECRET),
    (r"(?:access|refresh|auth|api|bearer|session|id|bot)_?tokens|token", _TOKEN),
    (r"(?:account|shared_?access|storage)_?key", SecretName("azure-key", False)),
    (r"api_?keys?|access_?key|service_?key|admin_?key|auth_?key|subscription_?key", SecretName("api-key", False)),
    (
        r"(?:private|signing|encryption|master|shared|deploy|jwt|hmac|webhook)_?key",
        SecretName("private-key", False, True),
    ),
    (r"authorization|(?:^|_)auth", SecretName("authorization", False)),
    (r"credentials?", SecretName("credential", False, path=True)),
    (r"(?:^|_)cookies?", SecretName("cookie", False)),
)
_NAME_RULES = tuple((Expression(f"(?:{ending})$"), kind) for ending, kind in _ENDINGS)

KEYWORDS = ("pass", "pwd", "secret", "token", "key", "auth", "credential")
"""Lower-case substrings; every secret name in running text contains one."""

_FOLDER_VARIABLES = ("PWD", "OLDPWD")
_HINTS = (*KEYWORDS, "cookie")
_NAME = Expression(r"[\w.$-]+(?: [\w-]+){0,2}", "a")
_HUMP = Expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", "a")
_QUALIFIER = Expression(
    r"(?:_(?:value|raw|plain|b64|base64|prod|production|dev|staging|test|live|new|old|current|primary|secondary|\d+))+$"
)
_HARMLESS = Expression(
    r"(?:^|_)(?:max|min|num|n|total|input|output|prompt|completion|cached?|read|write|creation|reasoning|thinking"
    r"|context|budget|count|limit|next|prev|previous|page|pagination|continuation|stop|eos|bos|pad|unk|sep|mask|cls"
    r"|special|cancel|cancellation|abort|lookahead|operator|keyword|syntax|design|color|theme|per|used)_tokens?$|(?:amz|goog)_credential$"
)
_NOT_A_VALUE = Expression(
    r"^(?:is|has|show|hide|forgot|requires?|no|allow|uses?|missing|invalid|wrong|expired|validate|verify|get)_"
)


def classify_name(name: str) -> SecretName | None:
    """Return what a key name announces, or None; `input_tokens` and `nextPageToken` announce nothing."""
    lowered = name.lower()
    if (
        not any(hint in lowered for hint in _HINTS)
        or len(name) > 80
        or name in _FOLDER_VARIABLES
        or not _NAME.compiled.fullmatch(name)
    ):
        return None
    snake = "_".join(_HUMP.compiled.findall(name)).lower()
    snake = _QUALIFIER.compiled.sub("", snake)
    if _HARMLESS.compiled.search(snake) or _NOT_A_VALUE.compiled.match(snake):
        return None
    return next((kind for pattern, kind in _NAME_RULES if pattern.compiled.search(snake)), None)


# What a placeholder can be, in lower case: one of these words, or anything that begins with one of these openings.
_WORDS = (
    "true false null none nil undefined yes no on off str string int integer number bool boolean any bytes object"
    " optional unknown required empty missing hidden redacted masked todo tbd na n/a default dummy placeholder"
    " example changeme changeit change-me change-it change_me change_it same-origin include omit"
)
_STAND_INS = frozenset((*_WORDS.split(), "change me", "change it"))
_OPENINGS = tuple(
    word + sign
    for words, signs in (
        ("process.env import.meta.env deno.env os.environ os.getenv system.getenv getenv env secrets vars", ".(["),
        ("config settings self this", ".(["),
        ("op vault ssm keyring env file arn secretref", ":/"),
        ("your insert replace enter put paste add type", "-_ "),
    )
    for word in words.split()
    for sign in signs
)
_CROSSED_OUT = "xX*.•…_#?0-"
_PLACEHOLDER = Expression(
    r"\$(?:(?-i:[A-Z_][A-Z0-9_]*)|[a-z_]+)|%\w+%|%\(\w+\)s|v?\d+(?:\.\d+)+|<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}"
    r"|your(?:api|secret|access|auth|token|key|pass|db)\w*",
    "is",
)
_ELISIONS = (
    r"\*{3}|\.{3}|…|•{3}|x{5}",
    r"\$\{|\$\(|\{\{|<%|#\{|%s|\{[\w.]*\}",
    r"[-_]your[-_]|[-_ ]here\Z",
)
_ELIDED_OR_TEMPLATE = Expression("|".join(_ELISIONS), "is")
_LOCATION = Expression(r"[A-Za-z][A-Za-z0-9+.-]*://\S*|(?:~|\.{0,2})/\S*|[A-Za-z]:\\.*", "a")
_STRANGE = Expression(r"[^\w./:\\ -]", "a")
_LONGEST_WORD = 20
_REFERENCE = Expression(r"[A-Za-z_$][\w$]*(?:[!?]?(?:\.|::|->)[A-Za-z_$][\w$]*)+", "a")


def is_placeholder(value: str) -> bool:
    """Return True for a stand-in of a secret: empty, crossed out, a variable, a type, a request for one."""
    if len(value) > 500:
        return False
    lower = value.lower()
    return (
        lower in _STAND_INS
        or lower.startswith(_OPENINGS)
        or not value.strip(_CROSSED_OUT)
        or value.isspace()
        or bool(_PLACEHOLDER.compiled.fullmatch(value) or _ELIDED_OR_TEMPLATE.compiled.search(value))
    )


def is_wordlike(value: str) -> bool:
    """Return True for names and words (`user_password`, `getToken2`), whose parts are long and mostly letters."""
    parts = _HUMP.compiled.findall(value)
    if not parts or _STRANGE.compiled.search(value):
        return False
    digits = sum(map(str.isdigit, value))
    longest = max(map(len, parts))
    return digits * 5 <= len(value) and len(value) >= 3 * len(parts) and longest <= _LONGEST_WORD


def is_location(value: str, path: bool) -> bool:
    """Return True for URLs and for paths made of words, or for any path if `path`; secrets in URLs have their own
    rules.
    """
    return _LOCATION.compiled.fullmatch(value) is not None and (path or "://" in value or is_wordlike(value))


def is_reference(value: str) -> bool:
    """Return True for `self.token` and `settings::SECRET`, which name a secret without containing it."""
    return _REFERENCE.compiled.fullmatch(value) is not None and is_wordlike(value)


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values()) if size else 0.0


class Style:
    """How a value follows its name; PLAIN is an environment or connection string, where any value is allowed."""

    QUOTED = "quoted"
    PLAIN = "plain"
    BARE = "bare"


_SAMPLE = 128  # judging more of a value than this would make long runs of `token=token=…` slow
_CODE = Expression(r"[(\[{<|]|\A\$[A-Za-z_]")
_CALL_OR_TAG = Expression(r"[A-Za-z_][\w.:]*\(.*\)[;,]?|<\w*", "a")
_LABEL = Expression(r"[A-Z][a-z]+", "a")
_LETTER = Expression("[A-Za-z]")
_BLANK = Expression(r"\s")
_SHORT_WORD = 8
_SHORT_NUMBER = 9


def is_secret_in_text(value: str, kind: SecretName, style: str) -> bool:
    """Return True if the value after a secret name in running text is a secret rather than code, a type or a label."""
    sample = value[:_SAMPLE]
    if _is_harmless(sample, kind) or is_reference(sample):
        return False
    least, floor = (4, 1.5) if style == Style.PLAIN else (6, 2.0) if kind.strong else (8, 2.5)
    if len(sample) < least or entropy(sample) < floor:
        return False
    if not kind.strong and not _LETTER.compiled.search(sample):
        return False
    wordlike = is_wordlike(sample) and not (kind is _AWS_SECRET and len(sample) == _AWS_SECRET_SIZE)
    if wordlike and classify_name(sample) and not (sample.islower() and sample.isalpha() and style != Style.BARE):
        return False
    if style == Style.PLAIN:
        return not _CALL_OR_TAG.compiled.fullmatch(sample)
    if style == Style.QUOTED:
        label = _LABEL.compiled.fullmatch(sample) or (sample.isalpha() and not sample.isascii())
        return not _BLANK.compiled.search(sample) and not (label if kind.strong else wordlike)
    return not _CODE.compiled.search(sample) and (not wordlike or (kind.strong and _is_word_with_number(sample)))


def is_secret_in_data(value: str, kind: SecretName) -> bool:
    """Return True if a string under a secret key in data is a secret; only obviously harmless values are excluded."""
    if _is_harmless(value, kind):
        return False
    if kind.strong:
        return True
    if (value.isalpha() and len(value) <= _SHORT_WORD) or (value.isdigit() and len(value) <= _SHORT_NUMBER):
        return False
    terms = value.split()
    return len(terms) < 3 or sum(map(is_wordlike, terms)) * 2 < len(terms)


def _is_harmless(value: str, kind: SecretName) -> bool:
    return is_placeholder(value) or value.lower() == kind.rule or is_location(value, kind.path)


def _is_word_with_number(value: str) -> bool:
    return value.isalnum() and not value.isalpha()
