"""Rules for secrets that the text before them identifies: a header, a command, a line of a credentials file.

They read that text, so they prove nothing inside decoded base64.
"""

from __future__ import annotations

from clew.facts.secrets.secret_rules import SecretRule

_SEPARATOR = r"\\{0,4}[\"'`]?\]?\s{0,4}[:=,]\s{0,4}\\{0,4}[\"'`]?"
_SCHEMES = "bearer|basic|token|digest|bot|apikey|negotiate|ssws|geniekey"
_ARGUMENT = (
    r"(?![^\w\0]{0,3}(?:your|my|the)?[_-]?passw?(?:or)?d?(?:\W|\Z))"
    r"(?:\\{0,4}\"([^\"\\\r\n\0]{1,200}+)|\\{0,4}'([^'\\\r\n\0]{1,200}+)|([^\s\"'\\;&|\0]{1,200}+))"
)
_BEFORE_OPTION = r"(?:[^\r\n|;&\0]{0,200}?\s)?"


def _command(literals: tuple[str, ...], program: str, option: str) -> SecretRule:
    """Return the rule for the password in an option of a command."""
    return SecretRule("command-password", literals, rf"(?:{program})\s{_BEFORE_OPTION}{option}{_ARGUMENT}", folded=True)


CONTEXT_RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "authorization",
        ("authorization",),
        rf"authorization{_SEPARATOR}(?:{_SCHEMES})\s{{1,4}}([A-Za-z0-9._~+/=:-]{{8,}}+)(?![({{\[])",
        folded=True,
        judged=True,
    ),
    SecretRule(
        "authorization",  # any other scheme, with a value that cannot be prose
        ("authorization",),
        rf"authorization{_SEPARATOR}(?!(?:{_SCHEMES})\s)[a-z][\w-]{{1,24}}\s{{1,4}}"
        r"([A-Za-z0-9._~+/=:-]{20,}+)(?![({\[])",
        floor=3.0,
        folded=True,
        judged=True,
    ),
    SecretRule(
        "bearer-token",
        ("bearer ", "ssws "),
        r"(?:bearer|ssws) {1,4}([A-Za-z0-9._~+/=-]{20,}+)(?![({\[])",
        floor=3.0,
        folded=True,
        judged=True,
    ),
    SecretRule(
        "cookie",
        ("set-cookie",),
        rf"set-cookie{_SEPARATOR}[A-Za-z0-9_.-]{{1,64}}=([^;\s\"'\\\0]{{16,}}+)",
        floor=2.5,
        folded=True,
    ),
    SecretRule(
        "cookie",
        ("cookie: ",),
        r"cookie: (?<!set-cookie: )([\w.-]{1,64}=[^\s\"'\\\0][^\r\n\"'\\\0]{15,}+)",
        floor=2.5,
        folded=True,
    ),
    SecretRule(
        "url-password",
        ("://",),
        r"://[^\s/:@\"'`<>\0]{0,120}+:([^\s/\"'`<>\0]{1,256})@(?=[A-Za-z0-9\[$_{])",
        also="@",
        anchored=True,
    ),
    SecretRule(
        "curl-user",
        ("curl ",),
        r"curl (?:[^\r\n\0]{0,300}?\s)?(?:-u|--user)[ =][\"']?[^\s:\"'\0]{1,80}+:([^\s\"'\0]{1,200}+)",
        folded=True,
    ),
    SecretRule(
        "netrc",
        ("machine ", "default login "),
        r"(?:machine\s{1,8}[^\s\0]{1,200}+|default)\s{1,8}"
        r"(?:(?:(?:login|account)\s{1,8}[^\s\0]{1,120}+\s{1,8}){1,2}password\s{1,8}([^\s\"'`\0]{1,200}+)"
        r"|password\s{1,8}([^\s\"'`\0]{1,200}+)(?=\s{1,8}(?:login|account)\s))",
        folded=True,
    ),
    SecretRule(
        "netrc",  # a line of it, where prose can stand as well
        ("login ",),
        r"login [^\s\0]{1,120}+\s{1,8}password ([^\s\"'`\0]{6,200}+)",
        floor=2.5,
        folded=True,
        judged=True,
    ),
    SecretRule(
        "pgpass",  # host:port:database:user:password
        ("5432:", "5433:", "6432:", ":*:", "pgpass"),
        r"(?<![^\s\"'`=\0])[\w.*\[\]/-]{1,120}+:(?:\d{2,5}|\*):[\w.*$-]{1,63}+:[\w.@*-]{1,63}+:"
        r"((?:\\[:\\]|[^\s:\"'`\\\0]){3,200}+)(?![^\s\"'`\0])",
    ),
    _command(("sshpass",), "sshpass", r"-(?-i:p)\s{0,4}"),
    _command(
        ("mysql", "mariadb"),
        r"mysql(?:dump|admin|import|check|sh|show|pump)?|mariadb(?:-\w{1,12})?",
        r"-(?-i:p)(?!assword|ort|\d{2,5}:\d)",
    ),
    _command(("redis-cli",), "redis-cli", r"(?:-(?-i:a)|--pass)[\s=]{1,4}"),
    _command(("mongo",), r"mongo(?:sh|dump|restore|import|export)?", r"-(?-i:p)(?!ort)\s{0,4}"),
    _command((" login ",), r" login", r"-(?-i:p)(?!ort)\s{1,4}"),  # docker, podman, helm, az
    _command(("ldap",), r"ldap(?:search|modify|add|delete|whoami|passwd|compare)", r"-(?-i:w)\s{0,4}"),
    _command(("sqlcmd",), "sqlcmd", r"-(?-i:P)\s{0,4}"),
    SecretRule(
        "command-password",
        ("htpasswd ",),
        rf"htpasswd -[a-z0-9]{{0,6}}b[a-z0-9]{{0,6}} (?:-\w{{1,4}} )*(?:[^\s\0]{{1,200}}+ )[^\s\0]{{1,80}}+ {_ARGUMENT}",
        folded=True,
    ),
    SecretRule(
        "command-password",
        ("smbclient",),
        r"smbclient [^\r\n\0]{0,200}?-(?-i:U) ?[\"']?[\w\\/.@-]{1,80}%([^\s\"'\0]{1,200}+)",
        folded=True,
    ),
    SecretRule("command-password", (" pass:",), r" pass:([^\s\"'`\0]{6,200}+)", folded=True, judged=True),  # openssl
    SecretRule(
        "seed-phrase",
        ("mnemonic", "seed phrase", "seed_phrase", "recovery phrase", "seedphrase"),
        r"(?:mnemonic|(?:seed|recovery)[ _]?phrase)\w{0,16}[\"'`]?\s{0,3}(?:[:=]|is\b)\s{0,3}[\"'`]?"
        r"((?-i:[a-z]{3,8}\s){11,23}(?-i:[a-z]{3,8}))(?![a-z])",
        folded=True,
    ),
)
