"""Stories of a bakery's order service: a bug fixed, three ways to say when it is open, secrets, a bad day, a fork."""

from __future__ import annotations

from datetime import datetime

from clew.demo.stories.story import BAKERY, ask, close, scene, session_id
from clew.demo.talk import NIL, Talk, bash, edit, grep, read, todo, tool, write

PRICING = '''\
"""Prices of orders, tax included."""

RATES = {"bread": 0.07, "cake": 0.19}


def line_total(price: float, count: int) -> float:
    return price * count


def order_total(lines: list[dict]) -> float:
    """The sum that goes on the invoice."""
    total = 0.0
    for line in lines:
        net = line_total(line["price"], line["count"])
        total += net + net * RATES[line["kind"]]
    return round(total, 2)
'''

TEST_PRICING = """\
from orders.pricing import order_total


def test_two_rolls():
    assert order_total([{"kind": "bread", "price": 0.45, "count": 2}]) == 0.96
"""

HOURS = """\
from datetime import time

OPEN = {"mon": (time(6, 30), time(18, 0)), "sat": (time(7, 0), time(13, 0))}


def is_open(day: str, at: time) -> bool:
    if day not in OPEN:
        return False
    first, last = OPEN[day]
    return first <= at < last
"""

PATH = f"{BAKERY}/src/orders/pricing.py"
TESTS = f"{BAKERY}/tests/test_pricing.py"


def rounding(begin: datetime) -> Talk:
    """An ordinary bug: found, shown by a test, fixed, committed; with hooks and a pull request."""
    told = ask(
        scene("rounding", BAKERY, begin, branch="fix/one-cent").attachment(
            "hook_success",
            hookName="SessionStart:startup",
            toolUseID="hook-start",
            hookEvent="SessionStart",
            content="",
            stdout="python 3.12, 41 tests\n",
            stderr="",
            exitCode=0,
            command="scripts/hello.sh",
            durationMs=84,
        ),
        "The till says 2.68 and the invoice says 2.67. Same loaf, 2.50 net. Where does the cent go?",
    )
    told = told.reply(
        "I'll look at how the total is reckoned and what the tests cover.",
        thinking="2.50 * 1.07 = 2.675. Half a cent, so this is rounding: binary floats or banker's rounding.",
        calls=[read(PATH, PRICING), read(TESTS, TEST_PRICING), grep("round\\(", f"{BAKERY}/src", numbers=True)],
    )
    told = told.result().result().result(f"{PATH}:16:    return round(total, 2)")
    told = told.reply(
        "The total is a binary float. 2.675 cannot be written in binary, the nearest number is a little below it, "
        "and `round` does what it is told. The cent is not lost; it never existed. Let me show it with a test first.",
        call=edit(
            TESTS,
            '"count": 2}]) == 0.96\n',
            '"count": 2}]) == 0.96\n\n\ndef test_half_a_cent_is_rounded_up():\n'
            '    assert order_total([{"kind": "bread", "price": 2.50, "count": 1}]) == 2.68\n',
        ),
    ).result()
    told = told.reply(call=bash("python -m pytest -q tests/test_pricing.py", "Run the pricing tests"))
    told = told.result(
        "Exit code 1\n.F                                                    [100%]\n"
        "E       assert 2.67 == 2.68\n1 failed, 1 passed in 0.03s",
        error=True,
    )
    return _rounding_fixed(close(told.reply("It fails by exactly one cent, which is oddly satisfying.")))


def _rounding_fixed(told: Talk) -> Talk:
    told = ask(
        told,
        "Good. Use Decimal, but keep the floats at the edge, the shop's till sends JSON.",
        tracked={"src/orders/pricing.py": PRICING, "tests/test_pricing.py": TEST_PRICING},
    )
    told = told.reply(
        "Decimals inside, floats at the door.",
        call=edit(
            PATH,
            'RATES = {"bread": 0.07, "cake": 0.19}\n',
            "from decimal import ROUND_HALF_UP, Decimal\n\n"
            'RATES = {"bread": Decimal("0.07"), "cake": Decimal("0.19")}\nCENT = Decimal("0.01")\n',
        ),
    ).result()
    told = told.attachment(
        "hook_success",
        hookName="PostToolUse:Edit",
        toolUseID=told.uses[0].id,
        hookEvent="PostToolUse",
        content="",
        stdout="All checks passed!\n",
        stderr="",
        exitCode=0,
        command="ruff check src",
        durationMs=61,
    )
    old = PRICING[PRICING.index("def line_total") :]
    new = '''\
def line_total(price: float, count: int) -> Decimal:
    return Decimal(str(price)) * count


def order_total(lines: list[dict]) -> float:
    """The sum that goes on the invoice."""
    total = Decimal(0)
    for line in lines:
        net = line_total(line["price"], line["count"])
        total += net + net * RATES[line["kind"]]
    return float(total.quantize(CENT, ROUND_HALF_UP))
'''
    told = told.reply(call=edit(PATH, old, new)).result()
    told = told.reply(call=bash("python -m pytest -q", "Run all tests")).result("42 passed in 0.91s")
    told = told.reply("42 tests pass, the new one among them. Shall I commit?")
    return _rounding_sent(close(told, minutes=6))


def _rounding_sent(told: Talk) -> Talk:
    told = ask(told, "yes, and open a PR")
    told = told.reply(
        call=bash(
            'git commit -qam "Round invoice totals half up" && git push -q && gh pr create --fill', "Commit, push, PR"
        )
    ).result("https://github.com/example-bakery/orders/pull/118")
    told = told.pr_link(118, "example-bakery/orders")
    told = told.reply("Opened #118. The till and the invoice now agree, and so will the tax office.")
    return close(told.ai_title("Fix one-cent rounding difference in order totals"))


def opening_hours(begin: datetime) -> Talk:
    """One question, three answers: a conversation that was taken back twice."""
    path = f"{BAKERY}/src/orders/hours.py"
    told = ask(scene("opening-hours", BAKERY, begin), "How do we know whether the shop is open? Just explain.")
    told = told.reply(call=read(path, HOURS)).result()
    told = close(
        told.reply("`is_open` looks the day up in `OPEN` and compares the time. Sundays are closed by omission.")
    )
    told = ask(told, "Add public holidays. Read them from a YAML file.")
    told = told.reply(
        "That needs PyYAML, which the project does not have yet. I'd add it and a loader.",
        call=bash("grep -n yaml pyproject.toml || echo none", "Look for PyYAML"),
    ).result("none")
    told = close(told.reply("Confirmed: PyYAML would be the first dependency. Say the word and I'll add it."))
    told = ask(told.rewind(to=2), "Add public holidays, as a set of dates in the module. No new dependency.")
    told = told.last_prompt(leaf=NIL, explicit=True)
    told = told.reply(
        "A set it is.",
        call=edit(
            path,
            "def is_open(day: str, at: time) -> bool:\n    if day not in OPEN:",
            "HOLIDAYS: set[str] = set()\n\n\n"
            "def is_open(day: str, at: time, date: str) -> bool:\n    if day not in OPEN or date in HOLIDAYS:",
        ),
    ).result()
    told = close(told.reply("Done, but every caller now has to pass a date. There are nine callers."))
    told = ask(told, "Nine is eight too many. Give the date a default of None.")
    told = told.reply(
        call=edit(path, "date: str) -> bool", "date: str | None = None) -> bool"),
    ).result()
    told = close(told.reply("`is_open(day, at)` works as before; `date` only matters when it is given."))
    told = ask(told.rewind(to=2), "Forget holidays. What happens at exactly closing time?")
    told = told.last_prompt(leaf=NIL, explicit=True)
    return close(told.reply("`at < last`: at 18:00 sharp it is closed, as every customer at 18:00 has found out."))


def secrets(begin: datetime) -> Talk:
    """Someone pastes what should not be pasted. All of it is made up, and put together only here."""
    stripe = "sk_" + "live_" + "51DemoDemoDemo" + "0123456789abcdef"
    github = "gh" + "p_" + "Demo" * 9
    amazon = "AK" + "IA" + "DEMO7DEMO7DEMO7X"
    password = "correct" + "-horse-" + "42"
    env = (
        f"STRIPE_KEY={stripe}\nAWS_ACCESS_KEY_ID={amazon}\n"
        f"DATABASE_URL=postgres://baker:{password}@db.example.test:5432/orders\n"
    )
    told = ask(scene("secrets", BAKERY, begin), "Payments fail on staging with 401. Is the key even loaded?")
    told = told.reply("I'll check the environment file and how it is read.", call=read(f"{BAKERY}/.env.staging", env))
    told = told.result()
    told = told.reply(call=bash("curl -s -u $STRIPE_KEY: https://api.example.test/v1/charges | head -3", "Try the key"))
    told = told.result('{"error": {"message": "Invalid API Key provided: sk_live_***cdef"}}')
    told = close(
        told.reply("The key is loaded and refused. It looks like a live key on staging; staging wants a test key.")
    )
    told = ask(told, f"Use this token to read the shared secrets repo instead: {github}")
    told = told.reply(
        "That token is now part of this conversation's transcript on disk. I'd revoke it once we are done; "
        "meanwhile please put it into your credential helper rather than into chat."
    )
    return close(told.ai_title("Staging payments return 401"))


def bad_day(begin: datetime) -> Talk:
    """Everything that can go wrong does: retries, an error, a refusal, an interruption; with signs of life."""
    told = scene("bad-day", BAKERY, begin, version="2.1.29", name="crusty-folding-baguette")
    told = told.progress(
        "hook_progress", hookEvent="SessionStart", hookName="SessionStart:startup", command="scripts/hello.sh"
    )
    told = ask(told, "Run the load test against staging.")
    told = told.reply("Starting it.", call=bash("python load.py --users 50", "Load test"))
    for second in (2, 4, 6):
        told = told.progress(
            "bash_progress",
            output=f"{second * 40} requests\n",
            fullOutput="",
            elapsedTimeSeconds=second,
            totalLines=second,
        )
    told = told.result(
        "Exit code 130\n240 requests, 0 failures\n[Request interrupted by user for tool use]", error=True
    )
    told = told.interrupt(in_tool=True)
    told = ask(told, "Too slow. Try 500 users.").reply("More users, then.", call=bash("python load.py --users 500"))
    told = told.deny().interrupt(in_tool=True)
    told = ask(told, "No wait, not against staging while the demo runs. Locally.")
    for attempt in (1, 2):
        told = told.system(
            "api_error",
            level="error",
            error={"status": 529},
            retryInMs=600 * attempt,
            retryAttempt=attempt,
            maxRetries=10,
        )
    told = told.api_error("API Error: 529 Overloaded. Try again in a moment.", error="server_error")
    told = ask(told, "again")
    told = told.reply(call=todo([("Start the service locally", "in_progress"), "Run 500 users", "Write numbers down"]))
    told = told.result()
    told = told.reply(
        call=bash("make serve & sleep 2; python load.py --users 500 --host localhost", "Load test, locally")
    )
    told = told.result("18400 requests, 3 failures, p95 212 ms")
    told = told.reply(
        "p95 is 212 ms with 500 users. The three failures are timeouts in the first second, while it warms up."
    )
    return close(told)


def _menu(begin: datetime) -> Talk:
    """The common beginning of a fork pair."""
    told = ask(scene("menu-import", BAKERY, begin), "Import the menu from this CSV. Prices have a comma, of course.")
    told = told.reply(call=bash("head -3 menu.csv", "Look at the file")).result(
        "name;price;kind\nRoggenbrot;3,20;bread\nBienenstich;2,40;cake"
    )
    told = told.reply(
        call=write(
            f"{BAKERY}/src/orders/menu.py",
            "import csv\nfrom pathlib import Path\n\n\ndef load(path: Path) -> list[dict]:\n"
            '    with path.open(encoding="utf-8-sig", newline="") as file:\n'
            '        rows = csv.DictReader(file, delimiter=";")\n'
            '        return [{**row, "price": float(row["price"].replace(",", "."))} for row in rows]\n',
        )
    ).result()
    return close(told.reply("Written. It reads semicolons, commas and the byte order mark that spreadsheets leave."))


def menu_import_fork(begin: datetime) -> Talk:
    """The same beginning under another id, gone on differently."""
    forked = _menu(begin).fork(session_id("menu-import-fork")).pause(hours=3)
    told = ask(forked, "Could it read the spreadsheet itself?")
    told = told.reply("Yes, with openpyxl. It costs a dependency and buys you formulas you did not ask for.")
    return close(told)


def menu_import(begin: datetime) -> Talk:
    """How the original went on."""
    told = ask(_menu(begin), "Add a test with the first two rows.")
    told = told.reply(
        call=tool("Skill", skill="write-tests", args="menu"),
    ).result("Loaded the skill write-tests.", detail={"success": True, "commandName": "write-tests"})
    told = told.user("Write small tests, one claim each.", meta=True, sourceToolUseID=told.uses[0].id)
    told = told.reply("Added `test_menu.py`: one row with a comma, one with a name that has an umlaut in it.")
    return close(told)
