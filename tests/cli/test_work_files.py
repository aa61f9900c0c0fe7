"""Todo lists, tasks and plans with their sessions, on a hand-written tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import OTHER, PROJECT, SESSION, SLUG, TOKEN, prompt, put, reply, text, write_lines


@pytest.fixture
def home(claude: Path) -> Path:
    write_lines(
        claude / "projects" / PROJECT / f"{SESSION}.jsonl",
        prompt(1, None, "Align the mirror"),
        reply(2, 1, text("I will plan it.")),
    )
    todos = [
        {"content": "Unscrew the lid", "status": "completed", "activeForm": "Unscrewing"},
        {"content": "Collimate the marmot mirror", "status": "in_progress", "activeForm": "Collimating"},
        {"content": f"Upload with {TOKEN}", "status": "pending", "activeForm": "Uploading"},
    ]
    put(claude / "todos" / f"{SESSION}-agent-{SESSION}.json", json.dumps(todos))
    put(claude / "todos" / f"{SESSION}-agent-a1b2c3d.json", json.dumps(["Count the craters"]))
    put(claude / "todos" / f"{OTHER}-agent-{OTHER}.json", "[]")
    put(claude / "todos" / "broken.json", "{")
    task = {"id": "1", "subject": "Polish", "description": "With a quokka cloth", "status": "pending"}
    put(claude / "tasks" / SESSION / "1.json", json.dumps(task))
    put(
        claude / "tasks" / SESSION / "2.json",
        json.dumps({**task, "id": "2", "subject": "Rinse", "status": "completed"}),
    )
    put(claude / "plans" / f"{SLUG}.md", f"# Mirror plan\n\n1. Buy a numbat brush\n2. Use {TOKEN}\n")
    put(claude / "plans" / "old-lost-wright.md", "\n## Nobody remembers\n")
    return claude


@pytest.mark.req("R013")
def test_show_todos_prints_lists_tasks_and_plans_of_a_session(clew: Run, home: Path) -> None:
    code, out, err = clew("show", SESSION, "--todos")
    assert (code, err) == (0, "")
    assert out == (
        "Align the mirror\n"
        f"Todos: 1 of 3 done · {SESSION}-agent-{SESSION}.json\n"
        "    ☒ Unscrew the lid\n"
        "    ◐ Collimate the marmot mirror\n"
        "    ☐ Upload with [REDACTED:github-token]\n"
        "Tasks: 1 of 2 done · 5e551011-aaaa-4bbb-8ccc-000000000001\n"
        "    ☐ Polish\n"
        "  │ · With a quokka cloth\n"
        "    ☒ Rinse\n"
        "  │ · With a quokka cloth\n"
        "Todos of agent a1b2c3d: 0 of 1 done · 5e551011-aaaa-4bbb-8ccc-000000000001-agent-a1b2c3d.json\n"
        "    ☐ Count the craters\n"
        f"Plan · {SLUG}.md\n"
        "  # Mirror plan\n\n  1. Buy a numbat brush\n  2. Use [REDACTED:github-token]\n"
    )
    assert clew("show", SESSION, "--todos", "--reveal")[1].count(TOKEN) == 2


@pytest.mark.req("R013")
def test_show_todos_as_json(clew: Run, home: Path) -> None:
    values = [json.loads(line) for line in clew("show", SESSION, "--todos", "--json")[1].splitlines()]
    assert [(v["kind"], v.get("source"), v["session"]) for v in values] == [
        ("todos", "todos", SESSION),
        ("todos", "tasks", SESSION),
        ("todos", "todos", SESSION),
        ("plan", None, SESSION),
    ]
    assert values[0]["items"][1] == {"content": "Collimate the marmot mirror", "status": "in_progress"}
    assert values[3]["text"].startswith("# Mirror plan") and TOKEN not in json.dumps(values)


def test_a_session_without_any_says_so(clew: Run, home: Path) -> None:
    write_lines(home / "projects" / PROJECT / f"{OTHER}.jsonl", {**prompt(1, None, "Hi"), "slug": None})
    code, out, err = clew("show", OTHER, "--todos")
    assert (code, out) == (1, "") and err.startswith("Session 5e551011 has no todo lists, tasks or plans.")


@pytest.mark.req("R013")
def test_ls_lists_todos_and_plans_with_their_sessions(clew: Run, home: Path) -> None:
    code, out, _ = clew("ls", "todos", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert sorted((r["source"], r["done"], r["total"], r["title"]) for r in rows) == [
        ("tasks", 1, 2, "Polish"),
        ("todos", 0, 1, "Count the craters"),
        ("todos", 1, 3, "Collimate the marmot mirror"),
    ]
    assert {r["session"] for r in rows} == {SESSION}
    plans = {r["name"]: r for r in map(json.loads, clew("ls", "plans", "--json")[1].splitlines())}
    assert (plans[SLUG]["session"], plans[SLUG]["title"]) == (SESSION, "Mirror plan")
    assert (plans["old-lost-wright"]["session"], plans["old-lost-wright"]["title"]) == (None, "Nobody remembers")
    table = clew("ls", "plans")[1].splitlines()
    assert table[0].split() == ["SESSION", "WHEN", "SIZE", "NAME", "TITLE"] and len(table) == 3
    assert clew("ls", "todos", "-p", "observatory")[0] == 0
    assert clew("ls", "plans", "-p", "observatory", "--json")[1].count("\n") == 1


@pytest.mark.req("R013")
def test_links_among_todos_and_plans_are_not_followed(clew: Run, home: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside.md", "# forbidden")
    (home / "plans" / "linked.md").symlink_to(outside)
    listed = put(tmp_path / "list.json", '["forbidden"]')
    (home / "todos" / f"{OTHER}-agent-{OTHER}.json").unlink()
    (home / "todos" / f"{OTHER}-agent-{OTHER}.json").symlink_to(listed)
    assert "forbidden" not in clew("ls", "plans")[1] + clew("ls", "todos")[1]


@pytest.mark.req("R013")
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("marmot", "todo"),
        ("quokka", "todo"),
        ("numbat", "plan"),
        ("marmot in:todo", "todo"),
        ("numbat in:plan", "plan"),
    ],
)
def test_todos_and_plans_are_found_by_search(clew: Run, home: Path, query: str, field: str) -> None:
    code, out, _ = clew("search", *query.split(), "--json")
    (found,) = map(json.loads, out.splitlines())
    assert (code, found["session"], found["title"]) == (0, SESSION, "Align the mirror")
    assert [p["field"] for p in found["passages"]] == [field]
    assert query.split()[0] in found["passages"][0]["text"] and found["passages"][0]["offset"] < 0
    assert clew("search", query.split()[0], "in:prompt")[0] == 1
    assert clew("search", "--substring", query.split()[0])[0] == 0
    assert clew("search", query.split()[0], "-p", "observatory")[0] == 0
    assert clew("search", query.split()[0], "--context", "1")[0] == 0


@pytest.mark.req("R013")
def test_a_changed_todo_list_is_searched_as_it_is_now(clew: Run, home: Path) -> None:
    clew("search", "marmot")
    path = home / "todos" / f"{SESSION}-agent-{SESSION}.json"
    path.write_text(json.dumps(["Clean the pademelon lens"]))
    assert clew("search", "marmot")[0] == 1
    assert clew("search", "pademelon")[0] == 0
    path.unlink()
    assert clew("search", "pademelon")[0] == 1
    assert TOKEN not in clew("search", "numbat")[1]
