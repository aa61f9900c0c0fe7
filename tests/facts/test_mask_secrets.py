"""Secrets are found and masked, innocent text is not, and neither depth nor hostile text hurts."""

from __future__ import annotations

import base64
import copy
import string
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.facts.secrets import mask_secrets
from clew.facts.secrets.context_rules import CONTEXT_RULES
from clew.facts.secrets.secret_rules import RULES, classify_name

LETTERS = string.ascii_letters + string.digits
URL_SAFE = LETTERS + "_-"
HEX = "0123456789abcdef"


def body(length: int, alphabet: str = LETTERS) -> str:
    """Varied characters that are plainly not a key; every secret here is put together at run time from these."""
    return "".join(alphabet[(place * 17 + place // 5 + 3) % len(alphabet)] for place in range(length))


def pem(kind: str = "RSA ", newline: str = "\n") -> str:
    lines = [
        "-----BEGIN " + kind + "PRIVATE " + "KEY-----",
        body(64),
        body(64),
        "-----END " + kind + "PRIVATE " + "KEY-----",
    ]
    return newline.join(lines)


JWT = "eyJ" + body(33, URL_SAFE) + "." + "eyJ" + body(60, URL_SAFE) + "." + body(43, URL_SAFE)

KNOWN = {
    "anthropic api": ("anthropic-key", "sk-" + "ant-" + "api03-" + "A" * 93),
    "anthropic admin": ("anthropic-key", "sk-" + "ant-" + "admin01-" + body(80, URL_SAFE)),
    "anthropic oauth": ("anthropic-key", "sk-" + "ant-" + "oat01-" + body(86, URL_SAFE)),
    "openai": ("openai-key", "sk" + "-" + body(48)),
    "openai repeated": ("openai-key", "sk" + "-" + "B" * 48),
    "openai project": ("openai-key", "sk-" + "proj-" + body(100, URL_SAFE)),
    "openai service": ("openai-key", "sk-" + "svcacct-" + body(60, URL_SAFE)),
    "openrouter": ("openrouter-key", "sk-" + "or-v1-" + body(64, HEX)),
    "aws id": ("aws-key-id", "AK" + "IA" + body(16, string.ascii_uppercase)),
    "aws temporary id": ("aws-key-id", "AS" + "IA" + body(16, string.ascii_uppercase)),
    "github classic": ("github-token", "gh" + "p_" + body(36)),
    "github oauth": ("github-token", "gh" + "o_" + body(36)),
    "github user": ("github-token", "gh" + "u_" + body(36)),
    "github server": ("github-token", "gh" + "s_" + body(36)),
    "github refresh": ("github-token", "gh" + "r_" + body(36)),
    "github fine-grained": ("github-token", "github" + "_pat_" + body(22) + "_" + body(59)),
    "gitlab": ("gitlab-token", "gl" + "pat-" + body(20, URL_SAFE)),
    "slack bot": ("slack-token", "xo" + "xb-" + body(12, string.digits) + "-" + body(24)),
    "slack app": ("slack-token", "xa" + "pp-1-" + body(11) + "-" + body(30)),
    "google api": ("google-api-key", "AI" + "za" + body(35, URL_SAFE)),
    "google oauth secret": ("google-secret", "GOC" + "SPX-" + body(28, URL_SAFE)),
    "google access": ("google-token", "ya" + "29." + body(60, URL_SAFE)),
    "stripe live": ("stripe-key", "sk" + "_live_" + body(24)),
    "stripe restricted": ("stripe-key", "rk" + "_live_" + body(24)),
    "stripe test": ("stripe-key", "sk" + "_test_" + body(24)),
    "stripe webhook": ("stripe-webhook", "wh" + "sec_" + body(32)),
    "npm": ("npm-token", "np" + "m_" + body(36)),
    "pypi": ("pypi-token", "py" + "pi-AgEI" + body(80, URL_SAFE)),
    "hugging face": ("huggingface-token", "h" + "f_" + body(34)),
    "twilio": ("twilio-key", "S" + "K" + body(32, HEX)),
    "sendgrid": ("sendgrid-key", "S" + "G." + body(22, URL_SAFE) + "." + body(43, URL_SAFE)),
    "digitalocean": ("digitalocean-token", "do" + "p_v1_" + body(64, HEX)),
    "groq": ("groq-key", "gs" + "k_" + body(52)),
    "xai": ("xai-key", "xa" + "i-" + body(80)),
    "vault": ("vault-token", "hv" + "s." + body(24)),
    "linear": ("linear-key", "lin" + "_api_" + body(40)),
    "atlassian": ("atlassian-token", "ATA" + "TT3" + body(80, URL_SAFE)),
    "discord 18": ("discord-token", "MT" + body(22) + "." + body(6) + "." + body(38, URL_SAFE)),
    "discord 19": ("discord-token", "MT" + body(24) + "." + body(6) + "." + body(38, URL_SAFE)),
    "databricks": ("databricks-token", "da" + "pi" + body(32, HEX)),
    "shopify": ("shopify-token", "shp" + "at_" + body(32, HEX)),
    "docker": ("docker-token", "dckr" + "_pat_" + body(27, URL_SAFE)),
    "grafana": ("grafana-token", "gl" + "sa_" + body(32) + "_" + body(8, HEX)),
    "new relic": ("new-relic-key", "NR" + "AK-" + body(27, LETTERS.upper())),
    "sentry": ("sentry-token", "sntr" + "yu_" + body(64, HEX)),
    "replicate": ("replicate-token", "r" + "8_" + body(37)),
    "perplexity": ("perplexity-key", "pp" + "lx-" + body(48)),
    "supabase": ("supabase-key", "sb" + "p_" + body(40, HEX)),
    "doppler": ("doppler-token", "dp" + ".pt." + body(43)),
    "rubygems": ("rubygems-key", "ruby" + "gems_" + body(48, HEX)),
    "postman": ("postman-key", "PM" + "AK-" + body(24, HEX) + "-" + body(34, HEX)),
    "figma": ("figma-token", "fi" + "gd_" + body(40, URL_SAFE)),
    "notion": ("notion-token", "nt" + "n_" + body(46)),
    "planetscale": ("planetscale-token", "psc" + "ale_tkn_" + body(43, URL_SAFE)),
    "square": ("square-token", "sq0" + "csp-" + body(43, URL_SAFE)),
    "mailgun": ("mailgun-key", "ke" + "y-" + body(32, HEX)),
    "age": ("age-key", "AGE-SECRET" + "-KEY-1" + body(58, string.ascii_uppercase)),
    "terraform": ("terraform-token", body(14) + ".atlas" + "v1." + body(67)),
    "jwt": ("jwt", JWT),
    "pem": ("private-key", pem()),
    "pem pkcs8": ("private-key", pem("")),
    "pem openssh": ("private-key", pem("OPENSSH ")),
    "pem escaped": ("private-key", pem(newline="\\n")),
    "pem windows": ("private-key", pem("EC ", "\r\n")),
}

# text with {} where the secret stands, the rule, the secret
IN_CONTEXT = {
    "aws secret": ("aws_secret_access_key = {}", "aws-secret-key", body(40, LETTERS + "/+")),
    "aws secret env": ("export AWS_SECRET_ACCESS_KEY={}\nnext", "aws-secret-key", body(40, LETTERS + "/+")),
    "slack webhook": ("https://hooks.slack" + ".com/services/{}", "slack-webhook", "T0/B0/" + body(24)),
    "azure account": ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};", "azure-key", body(86) + "=="),
    "azure sas": ("https://x.blob.core.windows.net/c?sv=2022&sig={}&se=1", "azure-sas", body(43) + "%3D"),
    "sql password": ("Server=tcp:db;User ID=sa;Password={};Encrypt=True", "password", "Sw0rd" + "fish!"),
    "sql pwd": ("Driver=x;Uid=sa;Pwd={};", "password", "swordfish" + "blue"),
    "telegram": ("bot 123456789:{} up", "telegram-token", "AA" + body(33, URL_SAFE)),
    "url password": ("postgres://app:{}@db.internal:5432/x", "url-password", "hunter" + "2"),
    "url password with at": ("redis://:{}@cache/0", "url-password", "p@ss" + "w0rd"),
    "bearer header": ("Authorization: Bearer {}", "authorization", body(30)),
    "bearer in curl": ("curl -H 'authorization: bearer {}' https://x", "authorization", body(30)),
    "bearer alone": ("send Bearer {} then", "bearer-token", body(40)),
    "basic header": ('"Authorization": "Basic {}"', "authorization", base64.b64encode(b"ann:" + b"hunter2").decode()),
    "set-cookie": ("Set-Cookie: sid={}; Path=/", "cookie", body(32)),
    "cookie": ("Cookie: {}\r\nHost: x", "cookie", "theme=dark; sid=" + body(32)),
    "curl user": ("curl -s -u ann:{} https://x.example", "curl-user", "hunter" + "2"),
    "env": ("A=1\nDB_PASSWORD={}\nB=2", "password", "correct" + "horse"),
    "env odd characters": ("DB_PASSWORD={}\n", "password", "a(b;c&d" + "|e9"),
    "pgpassword": ("PGPASSWORD={} psql", "password", "hunter" + "2x"),
    "export quoted": ("export SECRET_TOKEN='{}'", "token", body(24)),
    "json": ('{{"api_key": "{}"}}', "api-key", body(24)),
    "json in json": ('"{{\\"api_key\\": \\"{}\\"}}"', "api-key", body(24)),
    "yaml": ("db:\n  password: {}\n", "password", "hunter" + "2"),
    "python": ('password = "{}"', "password", "sword" + "fish"),
    "python typed": ('password: str = "{}"', "password", "sword" + "fish"),
    "typescript typed": ("const token: string | null = '{}'", "token", body(20)),
    "environ": ('os.environ["API_KEY"] = "{}"', "api-key", body(24)),
    "query": ("https://x.example/a?access_token={}&b=1", "token", body(24)),
    "flag": ("deploy --token {} --dry", "token", body(24)),
    "name and space": ("aws configure set aws_secret_access_key {}", "aws-secret-key", body(40)),
    "docker env": ("ENV DB_PASSWORD {}", "password", "hunter" + "2"),
    "flag equals": ("deploy --password={} --dry", "password", "hunter" + "2"),
    "xml": ("<password>{}</password>", "password", "hunter" + "2"),
    "header": ("X-Api-Key: {}", "api-key", body(24)),
    "camel case": ('clientSecret: "{}"', "secret", body(24)),
    "line with escaped newline": ("DB_PASSWORD={}\\nB=2", "password", "hunter" + "2"),
    "japanese around": ("鍵はAPI_KEY={} です", "api-key", body(24)),
    "unclosed quote": ('API_KEY="{}', "api-key", body(24)),
    "aws secret like words": (
        "aws_secret_access_key = {}",
        "aws-secret-key",
        "WordsWords/ReadAsWords/ButAreNoWords" + "Abcd",
    ),
    "percent signs": ("GET /go?to=a%26db_password%3D{}%26b%3D1 HTTP/1.1", "password", "correct" + "horse7"),
    "url in percent signs": ("?next=postgres%3A%2F%2Fapp%3A{}%40db%2Fx", "url-password", "hunter" + "2"),
    "netrc": ("machine api.example.com login ann password {}", "netrc", "hunter" + "2x"),
    "netrc over lines": ("machine a.example\n  login ann\n  password {}\n", "netrc", body(20)),
    "netrc other order": ("machine a.example password {} login ann", "netrc", "hunter" + "2x"),
    "netrc line": ("login ann password {}", "netrc", body(20)),
    "pgpass": ("db.example.com:5432:shop:ann:{}", "pgpass", "hunter" + "2x"),
    "pgpass any": ("echo '*:*:*:postgres:{}' >> ~/.pgpass", "pgpass", "hunter" + "2x"),
    "sshpass": ("sshpass -p '{}' ssh ann@x", "command-password", "sword fish" + "9"),
    "sshpass attached": ("sshpass -p{} ssh ann@x", "command-password", "sword" + "fish"),
    "mysql": ("mysql -u root -p{} shop", "command-password", "sword" + "fish"),
    "mysqldump": ('mysqldump -h db -u x -p"{}" shop', "command-password", "sword fish" + "9"),
    "docker login": ("docker login -u ann -p {} hub.example", "command-password", "hunter" + "2x"),
    "redis-cli": ("redis-cli -h cache -a {} ping", "command-password", "hunter" + "2x"),
    "mongosh": ("mongosh --host db -u ann -p {}", "command-password", "hunter" + "2x"),
    "htpasswd": ("htpasswd -cbB .htpasswd ann {}", "command-password", "hunter" + "2x"),
    "discord webhook": ("https://discord.com/api/webhooks/" + body(18, "1234567890") + "/{}", "webhook", body(68)),
    "teams webhook": (
        "https://shop.webhook.office.com/webhookb2/{}",
        "webhook",
        f"{body(36, HEX)}@{body(36, HEX)}/IncomingWebhook/{body(32, HEX)}/{body(36, HEX)}",
    ),
    "lark webhook": ("https://open.larksuite.com/open-apis/bot/v2/hook/{}", "webhook", body(36, HEX)),
    "ssws": ("Authorization: SSWS {}", "authorization", "00" + body(40, URL_SAFE)),
    "ssws alone": ("send SSWS {} then", "bearer-token", "00" + body(40, URL_SAFE)),
    "unknown scheme": ("Authorization: Acme-Key {}", "authorization", body(40)),
    "xml attributes": ('<add key="ApiKey" value="{}"/>', "api-key", body(24)),
    "xml attribute of properties": ("<entry key='db.password' value='{}'/>", "password", "hunter" + "2"),
    "xml named element": ('<property name="connection.password">{}</property>', "password", "hunter" + "2"),
    "yaml name and value": ("- name: DB_PASSWORD\n  value: {}", "password", "hunter" + "2"),
    "json name and value": ('{{\\"name\\": \\"DB_PASSWORD\\", \\"value\\": \\"{}\\"}}', "password", "hunter" + "2"),
    "shadow": ("root:{}:19000:0:99999:7:::", "password-hash", "$6" + "$" + body(16) + "$" + body(86)),
    "bcrypt": ("ann:{}", "password-hash", "$2" + "b$12$" + body(53)),
    "yescrypt": ("ann:{}:1", "password-hash", "$y" + "$j9T$" + body(22) + "$" + body(43)),
    "argon2": ("{}", "password-hash", "$argon" + "2id$v=19$m=65536,t=3,p=4$" + body(22) + "$" + body(43)),
    "django": ("{}", "password-hash", "pbkdf" + "2_sha256$600000$" + body(22) + "$" + body(43) + "="),
    "ldap hash": ("x {{SSHA}}{} y", "password-hash", body(32)),
    "seed phrase": ("mnemonic: {}", "seed-phrase", " ".join(["legal", "winner", "thank", "year"] * 3)),
    "joined literals": ('key = "{}"', "anthropic-key", 'sk-" + "ant-" +\n    "api03-' + body(40)),
    "joined single quotes": ("key = '{}'", "anthropic-key", "sk-ant-' + 'api03-" + body(40)),
    "joined after the name": ('"API_KEY=" + "{}"', "api-key", body(24)),
    "escaped letter": ("key {} end", "anthropic-key", "\\u0073k-ant-api03-" + body(40)),
    "hex escapes": ("key {} end", "anthropic-key", "\\x73\\x6b-ant-api03-" + body(40)),
    "entity": ("key {} end", "anthropic-key", "&#115;k-ant-api03-" + body(40)),
    "english sentence": ("the password for admin is {}", "password", "Sw0rd" + "fish!"),
    "german name": ("Kennwort={}", "password", "hunter" + "22"),
    "german sentence": ("mein Passwort ist {}.", "password", "Sommer" + "2031"),
    "french": ("mot de passe : {}", "password", "Été" + "2031!x"),
    "french name": ("MOT_DE_PASSE={}", "password", "abacaxi" + "s"),
    "french sentence": ("le mot de passe de la base est {}", "password", "hunter" + "22"),
    "french key": ("clé API : {}", "api-key", body(24)),
    "spanish": ("contraseña={}", "password", "hunter" + "22"),
    "spanish sentence": ("mi contraseña es {}", "password", "hunter" + "22"),
    "portuguese": ("senha: {}", "password", "hunter" + "22"),
    "portuguese sentence": ("a senha do banco é {}", "password", "hunter" + "22"),
    "italian": ("la parola d'ordine è {}", "password", "hunter" + "22"),
    "italian key": ("chiave_api = '{}'", "api-key", body(24)),
    "russian": ("Пароль от базы: {}", "password", "hunter" + "22"),
    "russian sentence": ("мой пароль — {}", "password", "hunter" + "22"),
    "russian token": ("токен: {}", "token", body(24)),
    "chinese": ("密码：{}", "password", "hunter" + "22"),
    "chinese sentence": ("数据库密码是{}，谢谢", "password", "hunter" + "22"),
    "chinese key": ("密钥={}", "api-key", body(24)),
    "japanese": ("パスワード: {}", "password", "hunter" + "22"),
    "japanese sentence": ("パスワードは「{}」です", "password", "hunter" + "22"),
    "japanese key": ("APIキー：{}", "api-key", body(24)),
    "truncated pem": ("-----BEGIN " + "PRIVATE KEY-----\n{}\n...", "", body(64)),
}

INNOCENT = [
    "3f2a9c1e-7b4d-4e8a-9f10-2b3c4d5e6f70",
    "commit " + body(40, HEX),
    "sha256:" + body(64, HEX),
    '"integrity": "sha512-' + base64.b64encode(bytes(range(7, 71))).decode() + '"',
    "toolu_01" + body(22),
    "msg_01" + body(22),
    "req_011" + body(21),
    "/usr/share/some/long/path/to/a/file_with_token/in/password/module.py",
    "C:\\Users\\ann\\secrets\\token.txt",
    "The password must be at least eight characters, and a token is a piece of a word.",
    "password: must be at least 8 characters",
    "max_tokens: 4096",
    "max_tokens=4096,",
    '"cache_read_input_tokens": 12000',
    '"input_tokens": "12000"',
    "nextPageToken: 'CAUQAA" + body(20) + "'",
    "password: str | None = None",
    "token = get_token()",
    "TOKEN=get_token()",
    "pass the access_token parameter and the api_key setting",
    "tokens = tokenize(text)",
    "def tokenize(text): ...",
    "password = self.password",
    "connect(user=user, password=password)",
    "api_key=settings.api_key",
    "token: string;",
    "secret: z.string().min(8)",
    "password = os.environ['DB_PASSWORD']",
    "apiKey: process.env.API_KEY",
    "API_KEY=${API_KEY}",
    "API_KEY=$API_KEY",
    "API_KEY=$(pass show key)",
    "API_KEY=<your key>",
    "API_KEY=your-api-key-here",
    "API_KEY=xxxxxxxxxxxx",
    'api_key="****************"',
    'password: "changeme"',
    '"password": "Password"',
    '"password": "Enter your password"',
    "Das Passwort ist falsch.",
    "Passwort: mindestens 8 Zeichen",
    "Bitte das Kennwort eingeben: zweimal",
    "mot de passe oublié ? Le mot de passe est obligatoire.",
    "contraseña: requerida",
    "La contraseña es incorrecta",
    "senha: obrigatória",
    "clave primaria: user_id",
    "palabra clave: import",
    "chiave primaria: id_utente",
    "Пароль: обязательное поле",
    "пароль слишком короткий: минимум 8 символов",
    "секрет успеха: терпение",
    "密码错误：请重试",
    "パスワード：必須です",
    "パスワードは8文字以上です",
    "the password is required",
    "the password is base64-encoded",
    "The password: see docs/README2.md",
    "machine learning password manager",
    "Login with password required",
    "login and password fields",
    "mysql -u root -p shop",
    "mysql -P3306 -p$PASSWORD",
    "docker run --name mysql -p 3306:3306 -p3307:3306",
    "sshpass -p password ssh host",
    "sshpass -p $PASS ssh host",
    "docker login -u ann -p <password>",
    "redis:5432:b:c",
    "at 10:5432:20",
    '<label for="password">Password</label>',
    '<input name="password" value="">',
    '<add key="ApiVersion" value="2031-01-01-preview"/>',
    'title = "Hello, " + "world of passwords"',
    "line.split('\\x1b')[0] + '\\u003cb\\u003e'",
    "awk '{print $1$2}' | sed 's/$1$/x/'",
    "The $6$ and $5$ prefixes name the SHA-2 methods of crypt(3).",
    "https://example.com/hooks/pre-commit-and-other-hooks-of-git",
    "https://docs.example.com/api/webhooks/create-a-webhook-for-a-channel",
    "the mnemonic: use short words to help",
    "Authorization: see the chapter on permissions-and-roles",
    "PWD=/tmp/a8f3k2l9/x",
    "OLDPWD=/tmp/a8f3k2l9/x",
    "private_key: ~/.ssh/id_rsa",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${token}",
    "Authorization: Bearer YOUR_API_TOKEN",
    "a bearer of bad news, the basic understanding",
    "https://example.com:8080/@scope/pkg",
    "ssh://git@github.com:22/a/b",
    "postgres://app:${DB_PASSWORD}@db/x",
    "postgres://app:{password}@db/x",
    "git@github.com:org/repo.git",
    "sk-ant-...",
    "sk-" + "ant-api03-" + "x" * 40,
    "sk-loading-indicator-with-a-long-class-name",
    "the risk-averse task-oriented desk-bound",
    "npm_config_registry=https://npm.example.com/",
    "npm_lifecycle_event_with_a_rather_long_name",
    "hf_hub_download_with_a_rather_long_function_name",
    "xoxo-love",
    "if line.startswith('-----BEGIN " + "PRIVATE KEY-----'):",
    "BEGIN = '-----BEGIN " + "PRIVATE KEY-----', '-----END " + "PRIVATE KEY-----'",
    "-----BEGIN CERTIFICATE-----\n" + body(64) + "\n-----END CERTIFICATE-----",
    "ssh-ed25519 " + "AAAAC3NzaC1lZDI1NTE5" + body(48) + " ann@example.com",
    "Author: Ann <ann@example.com>",
    "Co-Authored-By: Claude <noreply@anthropic.com>",
    "keyboard: us-intl-2024x",
    "primary_key: user_id_12345abc",
    '"tokenizer": "cl100k_base_2024x"',
    "Token::Identifier(name1234)",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 4).decode(),
]


@pytest.mark.req("R235")
@pytest.mark.parametrize(("rule", "value"), KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("around", ["{}", "use {} now", "'{}'", "({})", "鍵は{}。", "a\n{}\nb", "key={}"])
def test_known_format_is_found_wherever_it_stands(rule: str, value: str, around: str) -> None:
    text = around.format(value)
    (found,) = mask_secrets.find(text)
    assert (found.rule, text[found.start : found.end]) == (rule, value)


@pytest.mark.req("R235")
@pytest.mark.parametrize(("frame", "rule", "value"), IN_CONTEXT.values(), ids=IN_CONTEXT)
def test_only_the_value_is_masked_where_a_name_tells(frame: str, rule: str, value: str) -> None:
    text = frame.format(value)
    masked, secrets = mask_secrets.mask(text)
    assert len(secrets) == 1
    assert value not in masked
    if rule:
        assert masked == frame.format(f"[REDACTED:{rule}]")
    assert mask_secrets.mask(masked) == (masked, ())


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_left_alone(text: str) -> None:
    assert mask_secrets.find(text) == ()
    assert mask_secrets.find(f"before\n{text}\nafter") == ()


def test_thinking_signature_is_no_secret() -> None:
    signature = base64.b64encode(bytes((place * 89 + place // 3) % 256 for place in range(3000))).decode()
    thinking = {"type": "thinking", "thinking": "about the password", "signature": signature}
    masked, count = mask_secrets.mask_data(thinking)
    assert masked is thinking
    assert count == 0


@pytest.mark.req("R235")
def test_secret_inside_base64_is_masked_whole() -> None:
    hidden = base64.b64encode(("KEY=" + KNOWN["github classic"][1] + "\n").encode()).decode()
    assert mask_secrets.mask(f"data: {hidden}")[0] == "data: [REDACTED:base64-secret]"
    url_safe = base64.urlsafe_b64encode(("??>>" + KNOWN["anthropic oauth"][1]).encode()).decode().rstrip("=")
    assert mask_secrets.mask(f"({url_safe})")[0] == "([REDACTED:base64-secret])"


@pytest.mark.req("R235")
def test_base64_wrapped_over_lines_is_read_as_one() -> None:
    wrapped = base64.encodebytes(("A=1\n" * 20 + KNOWN["anthropic api"][1]).encode()).decode()
    masked, secrets = mask_secrets.mask(f"$ base64 .env\n{wrapped}")
    assert masked == "$ base64 .env\n[REDACTED:base64-secret]\n"
    assert len(secrets) == 1


def test_password_inside_base64_of_a_text_is_masked_but_not_one_in_noise() -> None:
    env = ("PORT=80\nDB_PASSWORD=" + "correcthorse" + "\nDEBUG=1\n").encode()
    assert mask_secrets.mask(f"data: {base64.b64encode(env).decode()}")[0] == "data: [REDACTED:base64-secret]"
    assert mask_secrets.find(base64.b64encode(env.replace(b"\n", b"\xf0").replace(b"DB", b"\x80\x81")).decode()) == ()


def test_base64_of_plain_text_is_left_alone() -> None:
    assert mask_secrets.find(base64.b64encode(b"nothing to see here, only plain words " * 4).decode()) == ()


def test_same_text_claimed_twice_is_named_by_the_more_specific_rule() -> None:
    value = KNOWN["anthropic api"][1]
    assert mask_secrets.mask(f"ANTHROPIC_API_KEY={value}")[0] == "ANTHROPIC_API_KEY=[REDACTED:anthropic-key]"


def test_overlapping_claims_leave_no_end_of_either_standing() -> None:
    value = "x9" + "/" + KNOWN["aws id"][1] + "/9y"
    assert mask_secrets.mask(f'password="{value}"')[0] == 'password="[REDACTED:aws-key-id]"'


def test_several_secrets_are_found_in_order() -> None:
    values = [value for _, value in KNOWN.values()]
    text = " and ".join(values)
    assert [text[found.start : found.end] for found in mask_secrets.find(text)] == values


def test_key_gives_equal_secrets_equal_marks() -> None:
    one, other = KNOWN["npm"][1], KNOWN["gitlab"][1]
    masked, _ = mask_secrets.mask(f"{one} {other} {one}", b"store key")
    first, second, third = masked.split()
    assert first == third != second
    assert first.startswith("[REDACTED:npm-token:") and len(first) == len("[REDACTED:npm-token:01234567]")
    assert mask_secrets.mask(one, b"another key")[0] != first
    assert mask_secrets.mask(masked, b"another key") == (masked, ())


def test_mark_reaches_a_secret_that_cannot_be_encoded() -> None:
    masked, secrets = mask_secrets.mask('password = "' + "hunt\ud800" + 'er22"', b"k")
    assert len(secrets) == 1
    masked.encode()


def test_very_long_value_is_masked_to_its_end() -> None:
    assert mask_secrets.mask("API_TOKEN=" + body(9000) + " end")[0] == "API_TOKEN=[REDACTED:token] end"
    assert mask_secrets.mask("sk-" + "ant-" + body(9000) + " end")[0] == "[REDACTED:anthropic-key] end"


def test_letter_that_grows_when_lowered_does_not_shift_what_is_masked() -> None:
    assert mask_secrets.mask("İİİ DB_PASSWORD=" + "hunter2x İ")[0] == "İİİ DB_PASSWORD=[REDACTED:password] İ"


# --- data ---------------------------------------------------------------------------------------------------


@pytest.mark.req("R235")
def test_data_is_masked_in_values_and_in_names() -> None:
    value = KNOWN["anthropic api"][1]
    data = {"message": [{"text": f"use {value}"}], value: 1, "n": 2.5, "ok": True, "none": None}
    before = copy.deepcopy(data)
    masked, count = mask_secrets.mask_data(data)
    assert masked == {
        "message": [{"text": "use [REDACTED:anthropic-key]"}],
        "[REDACTED:anthropic-key]": 1,
        "n": 2.5,
        "ok": True,
        "none": None,
    }
    assert list(masked) == ["message", "[REDACTED:anthropic-key]", "n", "ok", "none"]
    assert count == 2
    assert data == before


def test_names_that_become_equal_stay_apart() -> None:
    data = {"sk-" + "ant-" + letter * 30: letter for letter in "ABC"} | {"[REDACTED:anthropic-key]#2": "D"}
    masked, count = mask_secrets.mask_data(data)
    assert list(masked.values()) == list("ABCD")
    assert count == 3
    assert all(name.startswith("[REDACTED:anthropic-key]") for name in masked)
    assert mask_secrets.mask_data(masked) == (masked, 0)


def test_what_holds_no_secret_is_the_same_object() -> None:
    clean = {"a": ["plain"]}
    data: dict[str, Any] = {"clean": clean, "dirty": [KNOWN["npm"][1], clean]}
    masked, _ = mask_secrets.mask_data(data)
    assert masked["clean"] is clean
    assert masked["dirty"][1] is clean
    assert mask_secrets.mask_data(clean)[0] is clean


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("password", "swordfish", "password"),
        ("password", "correct horse battery staple", "password"),
        ("password", "secret", "password"),
        ("userPassword", "hunter2", "password"),
        ("db-passwd", "abc", "password"),
        ("api_key", "my-app-key", "api-key"),
        ("X-Api-Key", "plainlongword", "api-key"),
        ("client_secret", "words", "secret"),
        ("token", "123e4567-e89b-12d3-a456-426614174000", "token"),
        ("accessToken", "averyplainlongword", "token"),
        ("authorization", "averyplainlongword", "authorization"),
        ("privateKey", "averyplainlongword", "private-key"),
        ("cookie", "sid=averyplainword", "cookie"),
        ("credentials", "ann:swordfish", "credential"),
        ("api_key", "sk-" + "ant-" + "A" * 40, "anthropic-key"),
        ("aws_secret_access_key", "plain-words-here-too", "aws-secret-key"),
        ("Kennwort", "swordfish", "password"),
        ("mot_de_passe", "swordfish", "password"),
        ("contraseña", "swordfish", "password"),
        ("db_senha", "swordfish", "password"),
        ("Пароль", "swordfish", "password"),
        ("密码", "swordfish", "password"),
        ("パスワード", "swordfish", "password"),
        ("API-Schlüssel", "averyplainlongword", "api-key"),
    ],
)
@pytest.mark.req("R235")
def test_value_under_a_telling_name_is_masked(name: str, value: str, rule: str) -> None:
    masked: Any = {name: f"[REDACTED:{rule}]"}
    assert mask_secrets.mask_data({name: value}) == (masked, 1)
    assert mask_secrets.mask_data({name: [value, value]}) == ({name: [masked[name]] * 2}, 2)
    assert mask_secrets.mask_data(masked) == (masked, 0)


def test_scheme_before_a_credential_stays_readable() -> None:
    masked, _ = mask_secrets.mask_data({"Authorization": "Bearer averyplainlongword"})
    assert masked == {"Authorization": "Bearer [REDACTED:authorization]"}


def test_name_in_a_field_beside_the_value_tells_too() -> None:
    data = {"env": [{"name": "DB_PASSWORD", "value": "swordfish"}, {"name": "COLOUR", "value": "swordfish"}]}
    masked, count = mask_secrets.mask_data(data)
    assert [item["value"] for item in masked["env"]] == ["[REDACTED:password]", "swordfish"]
    assert count == 1


@pytest.mark.parametrize(
    "data",
    [
        {"password": ""},
        {"password": None},
        {"password": True},
        {"password": "true"},
        {"password": "${DB_PASSWORD}"},
        {"password": "<your password>"},
        {"password": "****"},
        {"password": "Password"},
        {"password": {"type": "string", "description": "The password of the user"}},
        {"api_key": "xxxx"},
        {"api_key": "process.env.API_KEY"},
        {"token": "the"},
        {"token": "4096"},
        {"input_tokens": "averyplainlongword"},
        {"usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 12000}},
        {"nextPageToken": "averyplainlongword"},
        {"tokens": "averyplainlongword"},
        {"apiKeySource": "averyplainlongword"},
        {"credentials": "same-origin"},
        {"secret": "https://example.com/where"},
        {"token": "one of the words of a sentence"},
        {"pwd": "/tmp/a8f3k2l9/x"},
        {"src/auth/token.py": "averyplainlongword"},
        {"Which password manager do you use?": "averyplainlongword"},
        {"sessionId": "3f2a9c1e-7b4d-4e8a-9f10-2b3c4d5e6f70"},
        {"signature": body(400)},
    ],
)
def test_obviously_innocent_value_under_a_telling_name_stays(data: dict[str, Any]) -> None:
    masked, count = mask_secrets.mask_data(data)
    assert masked is data
    assert count == 0


def test_nesting_ten_thousand_deep_is_masked() -> None:
    deep: Any = KNOWN["npm"][1]
    for level in range(10_000):
        deep = [deep] if level % 2 else {"a": deep}
    masked, count = mask_secrets.mask_data(deep)
    assert count == 1
    while isinstance(masked, list | dict):
        masked = masked[0] if isinstance(masked, list) else masked["a"]
    assert masked == "[REDACTED:npm-token]"


@pytest.mark.parametrize("value", ["plain", 1, 1.5, True, None, [], {}])
def test_lone_value_comes_back_as_it_is(value: Any) -> None:
    assert mask_secrets.mask_data(value) == (value, 0)
    assert mask_secrets.mask_data(value)[0] is value


def test_lone_string_is_masked() -> None:
    assert mask_secrets.mask_data(KNOWN["npm"][1]) == ("[REDACTED:npm-token]", 1)


# --- what must always hold ----------------------------------------------------------------------------------

PIECES = st.one_of(
    st.sampled_from([value for _, value in KNOWN.values()]),
    st.sampled_from([frame.format(value) for frame, _, value in IN_CONTEXT.values()]),
    st.sampled_from([literal for rule in RULES + CONTEXT_RULES for literal in rule.literals]),
    st.sampled_from(["password", "token", "API_KEY", "secret", "=", ":", " ", '"', "'", "\\", "\n", ";", "-----"]),
    st.sampled_from(["[REDACTED:", "[REDACTED:jwt]", "[REDACTED:jwt:0123abcd]", "]", "\0", "@", "://", "İ", "\ud800"]),
    st.sampled_from(["%", "%3D", "%20", "%3a", "%0A", "%22", "%00", "%5BREDACTED%3A"]),
    st.text(max_size=12),
    st.text(alphabet=URL_SAFE + "+/=.", max_size=60),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
NAMES = st.one_of(TEXTS, st.sampled_from(["password", "token", "apiKey", "name", "value", "key", "authorization"]))
DATA = st.recursive(
    st.one_of(TEXTS, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_spans_lie_in_the_text_in_order_and_apart(text: str) -> None:
    at = 0
    for found in mask_secrets.find(text):
        assert at <= found.start < found.end <= len(text)
        at = found.end


@given(TEXTS, st.sampled_from([None, b"", b"key"]))
@settings(max_examples=400, deadline=None)
def test_masking_again_changes_nothing(text: str, key: bytes | None) -> None:
    masked, secrets = mask_secrets.mask(text, key)
    assert (masked == text) == (not secrets)
    assert mask_secrets.find(masked) == ()
    assert mask_secrets.mask(masked, b"other") == (masked, ())


@given(DATA, st.sampled_from([None, b"key"]))
@settings(max_examples=300, deadline=None)
def test_data_keeps_its_shape_and_its_input(data: Any, key: bytes | None) -> None:
    before = copy.deepcopy(data)
    masked, count = mask_secrets.mask_data(data, key)
    assert data == before
    assert shape(masked) == shape(data)
    assert (masked is data) if count == 0 else (masked != data)
    again, more = mask_secrets.mask_data(masked, key)
    assert again is masked
    assert more == 0


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(child) for child in value.values()]
    if isinstance(value, list):
        return (*map(shape, value),)
    return type(value)


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_any_text_is_read(text: str) -> None:
    mask_secrets.mask(text)
    classify_name(text)


# --- hostile text and cost ----------------------------------------------------------------------------------

SIZE = 200_000
HANG = 20  # seconds of CPU; the slowest takes about 1, and a pattern that backtracks takes hours
REPEATED = [
    *(
        "a",
        "A",
        "0",
        "=",
        '"',
        "'",
        "`",
        "\\",
        "\\\\",
        '\\"',
        "-",
        "-----",
        " ",
        "\n",
        "\0",
        ".",
        ":",
        "/",
        "@",
        "{",
        "x",
    ),
    *("sk-", "sk-ant-", " sk-ant-a", "eyJ", "eyJ.", ".eyJ", "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJaaaaaaaa ", "AKIA", "ghp_"),
    *(
        "token",
        "token=",
        "token='",
        'token="',
        "password:",
        "password: ",
        "pwd=",
        "key=",
        "KEY=",
        "API_KEY=a1",
        "--token ",
    ),
    *("token: a.", "token: a|", "secret:b =", "<password>", "auth\\\\\\\\", "PASSWORD=$x{", "passw", 'token="a\\"'),
    *("://", "://a:", "://a:b", "http://a:b@", "@://:", "curl ", "curl -u ", "curl -u a", "-u a:", "sig=", "?sig="),
    *("authorization: bearer ", "authorization", "bearer ", "basic ", "cookie: ", "set-cookie: a=", "cookie: a=b"),
    *(
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----BEGIN " + "PRIVATE KEY-----\n" + "A" * 40 + "\n",
        "PRIVATE KEY",
        "-----BEGIN ",
    ),
    *("[REDACTED:", "[REDACTED:jwt]", "Ab1/", "Ab1+" * 12 + " ", "A" * 76 + "\n", "A" * 39 + " ", "MTa", ".aaaaaa."),
    *(
        "%",
        "%3D",
        "a%20",
        "token%3D",
        "%3A%2F%2Fa%3A",
        "12345678:AA",
        "hooks.slack.com/services/",
        "SG.",
        "xoxb-",
        "hf_",
        "npm_",
        "SK0",
        "İ",
        "鍵=",
        "\U0001f511",
    ),
]


@pytest.mark.parametrize("piece", REPEATED, ids=repr)
def test_hostile_text_is_read_in_bounded_time(piece: str) -> None:
    text = (piece * (SIZE // len(piece) + 1))[:SIZE]
    assert _seconds(lambda: mask_secrets.find(text)) < HANG
    assert _seconds(lambda: mask_secrets.find(text[:-1] + "\0")) < HANG


def test_every_rule_alone_reads_every_hostile_text_in_bounded_time() -> None:
    def run_all() -> None:
        for piece in REPEATED:
            text = (piece * (SIZE // len(piece) + 1))[:SIZE]
            for rule in RULES:
                for _ in rule.expression.compiled.finditer(text):
                    pass

    assert _seconds(run_all) < HANG


@pytest.mark.parametrize("piece", ["token=", "eyJ.", "://a:", "[REDACTED:jwt] "])
def test_work_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    small, large = piece * 5_000, piece * 50_000
    assert _seconds(lambda: mask_secrets.find(large)) < 40 * (_seconds(lambda: mask_secrets.find(small)) + 0.01)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def test_literals_are_in_all_that_the_rule_finds() -> None:
    rules = {rule.name: [other for other in RULES if other.name == rule.name] for rule in RULES}
    for name, value in KNOWN.values():
        assert any(literal in value for rule in rules[name] for literal in rule.literals)
    for rule in RULES + CONTEXT_RULES:
        assert not rule.folded or all(literal == literal.lower() for literal in rule.literals)


def test_rule_that_is_tried_only_at_its_literal_begins_with_it() -> None:
    for rule in RULES + CONTEXT_RULES:
        if rule.anchored and len(rule.literals) == 1:
            literal = rule.literals[0]
            assert rule.expression.text.startswith((literal, literal.replace(".", r"\."))), rule.name
            assert not any(literal.startswith(literal[at:]) for at in range(1, len(literal)))  # none hides in another


def test_rule_names_fit_in_a_mark() -> None:
    for rule in RULES + CONTEXT_RULES:
        assert set(rule.name) <= set(string.ascii_lowercase + string.digits + "-")


def test_text_without_a_trace_of_a_secret_loads_no_regular_expression() -> None:
    source = Path(mask_secrets.__file__).parents[2]
    innocent = (
        "All tests passed. The keys of a task are TOKENS; light paths/of/files.py, see https://example.com/README."
    )
    code = (
        f"import sys; sys.path += {[str(source), *sys.path]!r}; from clew.facts.secrets.mask_secrets import mask;"
        f"assert mask({innocent!r}) == ({innocent!r}, ()); before = set(sys.modules);"
        "assert mask('password=hunter2hunter2')[1]; print(*before, '|', *sys.modules)"
    )
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    before, after = (set(names.split()) for names in run.stdout.split("|"))
    assert not before & {"re", "enum", "typing", "dataclasses", "functools", "hmac"}
    assert "re" in after
