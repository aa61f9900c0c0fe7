"""A grammar of shell commands: every row of the table of harmless commands, with its own options and with others, in many
spellings, with patterns, redirects, substitutions, wrappers and lists."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from clew.chat.permission import git_commands, safe_commands
from clew.chat.permission.command_options import Grammar

PLAIN = (
    "x",
    "a.txt",
    "b.txt",
    "src/a.py",
    "src",
    ".",
    "d1",
    "./x",
    "src/deep",
    "src/deep/c.txt",
    "none",
    "./a.txt",
    "sub",
)
PATTERNS = (
    "./a*", "src/*.py", "src/a?py", "./d*", "a*.txt", "src/deep/*", "./?", "*", "?", "''*", '""*', '""??*', "''[-z]*",
    "./[^a]ink", "./[[:alpha:]]ink", '"./[ab]"*', "./.[^x]pmrc", "./*", "-*", "[ab]", "./l*", "./+*", "./@*", "./.n*",
    "**",
    "src/**", "./a{b,c}*", "~/*", "./~*", "'./a'*", "./a\\*", "@(a|b)", "?(a)", "./nomatch*", "keys/*", ".*", "./.*",
    "linkdir/*",
)  # fmt: skip
ODD = (
    "link", "linkdir", "../outside/secret", "~/secret.txt", "/etc/shells", ".npmrc", "keys/id_rsa", ".ssh",
    "src/link.py", "٣",
    "@list", "@../outside/secret", "+5", "'~/secret'", "'~'/secret", "~", "~root", "~+", "$HOME/secret.txt", "$X",
    '"$X"',
    "${X}", "$(cat link)", "`cat link`", "{x,link}", "l{ink,1}", "linkdir/secret", "src/../../outside/secret", "''",
    "-", "--",
    "$ANTHROPIC_API_KEY", "$'x'", "x\\\ny", "٣ ", "both", "'*'", "'-'", "-v", "--number", "5", "HEAD:.npmrc",
    "v1:.npmrc", "v1",
    "HEAD", "HEAD~1", ":.npmrc", "HEAD:x", "a.txt", ":(icase).NPMRC", "'.np*'", "<(cat link)", "$((1+1))", "0/ls",
    "./ls",
)  # fmt: skip
BAD_OPTIONS = (
    "-o", "-oz.txt", "--output=z", "--outp=z", "-i", "-f", "-flink", "-R", "-e", "-es,x,touch pwned,e", "--pre=./ls",
    "--pre", "-exec", "-delete", "-w", "--file=link", "--files0-from=@list", "--compress-program=./ls", "-T.", "-S1",
    "-C", "-m",
    "--from-file=link", "-x", "-D", "-L", "-O", "-c", "--help", "--textconv", "--ext-diff", "--show-signature", "-n1",
    "-٣", "-5",
    "+5", "--no-index", "--contents=link", "--output", "-v", "%n", "-fprint", "z", "--hidden", "-uu", "--no-ignore",
    "-g.npmrc",
    "--glob=.npmrc", "-r", "--recursive", "-p", "--format=%G?", "--exclude-from=link", "--magic-file=magic", "-Z",
    "--dired",
)  # fmt: skip
REDIRECTS = (
    "2>&1", "2>/dev/null", "> /dev/null", "< x", "< a.txt", "1>&2", "2>&-", "<<< hello", ">&٣", "> z", ">> d2",
    "< link",
    "> ٣", ">&3", "<&٣", "&> z", "<> z", ">| z", "<<< $X", '<<< "$ANTHROPIC_API_KEY"', "< /etc/shells", "3> z",
    "<<E\nx\nE",
    "{fd}> z", "< <(cat link)", "> $X", "<&0", ">&d2", "<<< $HOME",
)  # fmt: skip
VALUES = ("1", "2", "5", "3", "x", ",", "a", "1,2", "z", "+2", "link", "٣", "/etc/shells", "%s", "'%d '")
WRAPPERS = (
    "timeout 5 {}", "nice {}", "nohup {}", "time {}", "stdbuf -oL {}", "command {}", "LANG=C {}",
    "LC_ALL=C TZ=UTC {}", "! {}",
    "({})", "nice -n 5 {}", "CDPATH=/ {}", "PATH=. {}", "GREP_OPTIONS=-r {}", "env {}", "builtin {}", "sudo {}",
    "\\{}", "{{ {}; }}",
    "IFS=x {}", "if {}; then ls; fi", "TZ=../x {}", "xargs {}", "exec {}", "HOME=. {}",
    "RIPGREP_CONFIG_PATH=.rgrc {}",
)  # fmt: skip
JOINTS = (" | ", " && ", "; ", " || ", "\n", " & ", " |& ")
SETTERS = (
    "printf %n PATH", "printf 'aaaaaaa%n' PATH", "printf -v PATH x", "printf '%ln' HOME", "read PATH",
    "export PATH=.", "unset PATH",
    "cd linkdir", "cd src", "cd ./l*", "cd ./nomatch*", "cd", "cd -", "cd ..", "cd keys", "shopt -s dotglob",
    "set -f", "hash -p ./ls ls",
    "mapfile PATH", "let PATH=1", "alias cat=ls", "getopts a PATH", "declare PATH=.", "test -v 'a[$(touch z)]'",
    "cd sub", "umask 0",
    "printf '%(%s)T' -1", "printf %s x", "printf '%d %s\\n' 1 x", "printf '%٣d' 1", "printf %5.2f 1",
    "printf '%%n' PATH", "printf '%*d' 1 2",
)  # fmt: skip
SED = (
    "1p",
    "1,3p",
    "$p",
    "'$p'",
    "2q",
    "1d",
    "=",
    "s/x/y/",
    "'1e touch z'",
    "'w z'",
    "'s/x/touch z/e'",
    "r",
    "1,+2p",
    "'1r link'",
)
DATES = (
    "",
    "+%s",
    "-u",
    "+%F -u",
    "-I",
    "-R",
    "-s 2020-01-01",
    "010100002030",
    "-f link",
    "-r x",
    "-d now",
    "--file=link",
)
FIND = (
    "-name",
    "-type",
    "-maxdepth",
    "-newer",
    "-path",
    "-size",
    "-print",
    "-ls",
    "-empty",
    "-exec",
    "-delete",
    "-fprint",
    "-L",
    "!",
)


def commands(seed: int, count: int) -> list[tuple[str, str]]:
    """Commands, each with the row that it is about; the rows take turns."""
    random = Random(seed)
    rows = tuple(ROWS)
    return [(rows[index % len(rows)], _line(random, rows[index % len(rows)])) for index in range(count)]


def every_option() -> list[str]:
    """Every option of every row of the table with words that lead out of the project, as values and as files."""
    made: list[str] = []
    for name, grammar in safe_commands.GRAMMARS.items():
        start = "x " if grammar.skip else ""
        words = [f"{before}{word}" for word in (*ODD[:12], "+5", "-", "-v", "5") for before in ("", "x ", "-- ")]
        made += (f"{name} {start}{word}" for word in words)
        made += (
            f"{name} -{letter} {start}{word}" for letter in grammar.flags for word in ("link", "x link", "-v", "5")
        )
        values = ("link", "5 link", "5 x", "link x", "-v x", "x -v")
        made += (f"{name} -{letter} {start}{word}" for letter in grammar.valued for word in values)
        made += (f"{name} -{letter}{word}" for letter in grammar.valued for word in values)
        for option in sorted(grammar.long):
            plain = option.removesuffix("=")
            forms = (option, f"{option}1", f"{plain} 1", plain) if plain != option else (option,)
            made += (f"{name} --{form} {start}{word}" for form in forms for word in ("link", "x", "-v"))
    return list(dict.fromkeys(made))


def _line(random: Random, row: str) -> str:
    text = _command(random, row)
    if random.random() < 0.1:
        text = random.choice(WRAPPERS).format(text)
    if random.random() < 0.15:
        text += " " + random.choice(REDIRECTS[:8] if random.random() < 0.5 else REDIRECTS)
    if random.random() < 0.12:
        other = random.choice(SETTERS) if random.random() < 0.5 else _command(random, random.choice(tuple(ROWS)))
        text = other + random.choice(JOINTS) + text if random.random() < 0.5 else text + random.choice(JOINTS) + other
    if random.random() < 0.02:
        text += random.choice((" # x", "\n", ";", " ", "\t"))
    return text


def _command(random: Random, row: str) -> str:
    special = _SPECIAL.get(row)
    if special:
        return special(random)
    if row.endswith(" --version"):
        return (
            row if random.random() < 0.8 else row.replace("--version", random.choice(("-V", "-v", "x", "--version x")))
        )
    if row.startswith("git "):
        return _git(random, row)
    return _spelled(random, row, safe_commands.GRAMMARS[row], _needs(row))


def _needs(row: str) -> list[str]:
    return {
        "grep": ["x"],
        "egrep": ["x"],
        "fgrep": ["x"],
        "rg": ["x"],
        "tr": ["a", "b"],
        "seq": ["3"],
        "basename": ["x"],
    }.get(row, [])


def _spelled(random: Random, name: str, grammar: Grammar, first: list[str]) -> str:
    """A command with options, mostly its own, and words, mostly plain ones."""
    is_mild = random.random() < 0.55  # all of it usual, so that enough is allowed
    words = [option for _ in range(random.choice((0, 0, 1, 1, 2))) for option in _option(random, grammar, is_mild)]
    words += first
    most = min(grammar.most, 3)
    if not grammar.has_paths:
        words += [_word(random, is_mild) for _ in range(min(most - len(first), random.choice((0, 0, 1))))]
    else:
        words += [
            _word(random, is_mild)
            for _ in range(random.choice((0, 1, 1, 2, 3)) if not is_mild else min(most, random.choice((1, 1, 2))))
        ]
    if not is_mild and random.random() < 0.3:
        random.shuffle(words)
    if random.random() < 0.05:
        words.insert(random.randrange(len(words) + 1), "--")
    return " ".join([_dressed(random, name) if random.random() < 0.03 else name, *words])


def _option(random: Random, grammar: Grammar, is_mild: bool) -> list[str]:
    if not is_mild and random.random() < 0.3:
        return [random.choice(BAD_OPTIONS)]
    kinds = [
        kind for kind, known in (("flag", grammar.flags), ("value", grammar.valued), ("long", grammar.long)) if known
    ]
    if not kinds:
        return []
    kind = random.choice(kinds)
    if kind == "flag":
        return ["-" + "".join(random.choices(grammar.flags, k=random.choice((1, 1, 1, 2))))]
    value = random.choice(VALUES[:8] if is_mild else VALUES)
    if kind == "value":
        letter = random.choice(grammar.valued)
        return [f"-{letter}{value}"] if random.random() < 0.5 else [f"-{letter}", value]
    name = random.choice(sorted(grammar.long))
    if name.endswith("="):
        return [f"--{name}{value}"] if is_mild or random.random() < 0.7 else [f"--{name[:-1]}", value]
    return [f"--{name}" if is_mild or random.random() < 0.9 else f"--{name[: len(name) // 2 + 1]}"]


def _word(random: Random, is_mild: bool) -> str:
    chance = random.random()
    if is_mild:
        if chance < 0.2:
            return random.choice(PATTERNS[:4])
        return _dressed(random, random.choice(PLAIN)) if chance < 0.3 else random.choice(PLAIN)
    if chance < 0.35:
        return random.choice(PATTERNS)
    return random.choice(ODD) if chance < 0.7 else _dressed(random, random.choice(PLAIN))


def _dressed(random: Random, word: str) -> str:
    """A word in another spelling."""
    half = len(word) // 2
    return random.choice(
        (
            f"'{word}'", f'"{word}"', f"{word[:half]}''{word[half:]}", f'{word[:half]}"{word[half:]}"', f"\\{word}",
            f"$'{word}'", f"''{word}", f"{word}''",
        )
    )  # fmt: skip


def _find(random: Random) -> str:
    is_mild = random.random() < 0.5
    words = [_word(random, is_mild)]
    for _ in range(random.choice((0, 1, 2))):
        option = random.choice(FIND[:9] if is_mild else FIND)
        values = {"-name": "'*.py'", "-type": "f", "-maxdepth": "1", "-newer": "x", "-path": "x", "-size": "+1"}
        words += [option, *([values[option]] if option in values else [])]
        if not is_mild and random.random() < 0.3:
            words.append(random.choice(ODD + PATTERNS))
    return " ".join(("find", *words))


def _sed(random: Random) -> str:
    is_mild = random.random() < 0.6
    script = random.choice(SED[:6] if is_mild else SED)
    words = ["-n", script] if random.random() < 0.7 else [script]
    words += [_word(random, is_mild)]
    if not is_mild:
        words.append(random.choice(BAD_OPTIONS))
        random.shuffle(words)
    return " ".join(("sed", *words))


def _git(random: Random, row: str) -> str:
    name = row.removeprefix("git ")
    start = "git --no-pager" if random.random() < 0.1 else "git"
    if random.random() < 0.05:
        start = random.choice(
            ("git -C .", "git -c core.pager=./ls", "git --git-dir=.git", "git -p", "git --exec-path=.")
        )
    if name in git_commands.LISTING_FORMS:
        listed = (
            random.choice(sorted(git_commands.LISTING_FORMS[name]))
            if random.random() < 0.7
            else (_word(random, False),)
        )
        return " ".join((start, name, *listed))
    is_mild = random.random() < 0.6
    words = [
        o for _ in range(random.choice((0, 1, 1, 2))) for o in _option(random, git_commands.READ_ONLY[name], is_mild)
    ]
    pool = ("HEAD", "HEAD~1", "x", "a.txt", "src/a.py", "HEAD:x", "HEAD~1..HEAD", "-- x", "-- src", "v1", "main")
    needs = name in ("blame", "check-ignore", "cat-file", "ls-tree", "rev-parse", "rev-list", "merge-base")
    count = 1 if needs else random.choice((0, 0, 1))
    if name == "cat-file" and is_mild:
        words = [random.choice(("-t", "-p", "-s", "-e"))]
    words += [random.choice(pool) if is_mild else _word(random, False) for _ in range(count)]
    return " ".join((start, name, *words))


def _words_of(*texts: str) -> str:
    return " ".join(texts)


_SAID = ("x", "'a b'", "-n", "-e", '"it is"', "$HOME", '"$PWD"', "a\\ b", "'$X'", "'*'", "$USER")
_SPECIAL: dict[str, Callable[[Random], str]] = {
    "find": _find,
    "sed": _sed,
    "date": lambda random: f"date {random.choice(DATES[:6] if random.random() < 0.6 else DATES)}",
    "printf": lambda random: random.choice([s for s in SETTERS if s.startswith("printf")]),
    "test": lambda random: (
        f"test {random.choice(('-e', '-f', '-d', '-v', '-nt', '-L'))} {_word(random, random.random() < 0.6)}"
    ),
    "command": lambda random: (
        f"command {random.choice(('-v', '-V', '-p', '-v'))} {random.choice(('ls', 'git', './ls', 'none', '$X', 'ls x'))}"
    ),
    "echo": lambda random: _words_of(
        "echo", *(random.choice(_SAID if random.random() < 0.6 else ODD) for _ in range(2))
    ),
}
ROWS = (
    *safe_commands.GRAMMARS,
    *_SPECIAL,
    *(f"git {name}" for name in (*git_commands.READ_ONLY, *git_commands.LISTING_FORMS)),
    *(f"{name} --version" for name in sorted(safe_commands.VERSION_PROGRAMS)),
)
