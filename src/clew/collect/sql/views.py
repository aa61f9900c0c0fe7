"""SQL of the views of `clew sql`, identical on every engine but for the form of a date.

They use only what SQLite, PostgreSQL, DuckDB and Spark share: no quoted names, no engine-specific functions, sums
cast back to integers. A reply or call that occurs in several files is counted once: its numbers are those of the
occurrence with the most output, and its position is the first one that is not marked as a copy.

Occurrences usually have the same day, so they are compared within a day: a query of one day reads only that day. The
few that occur on several days are listed in the relations of `MOVED` and are compared over all days. An engine that
knows that there are none leaves that part out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

TEXT_DATE = "nullif({0}, '')"  # for SQLite, which has no dates
CAST_DATE = "try_cast({0} AS DATE)"  # for DuckDB and Spark

_FIRST = "ORDER BY is_copy, path, host, file"
_TOKENS = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read", "web_searches", "web_fetches")
_NUMBERS = ("time", "time_ms", "day", "model", *_TOKENS, "cost_micros", "week")
_OWNER = "developer, machine, team"
_ADDED = f"{_OWNER}, week, substr(day, 1, 7) AS month"  # at the end: PostgreSQL replaces a view only with more columns
_SUMS = ",\n  ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in (*_TOKENS, "cost_micros"))

MOVED = {
    "moved_turn": ("fact_turn", ("host", "session", "agent", "turn")),
    "moved_reply": ("fact_reply", ("reply",)),
    "moved_call": ("fact_call", ("call",)),
}
"""Relations with the keys that occur on several days: the table, and the columns that are the key."""


def moved_sql(name: str) -> str:
    """Return the SQL of a relation of MOVED."""
    table, key = MOVED[name]
    columns = ", ".join(key)
    return f"SELECT {columns} FROM {table} GROUP BY {columns} HAVING min(day) <> max(day)"


class _Form(NamedTuple):
    """What differs between engines: the form of a date, and which relations of MOVED can have rows."""

    date: str
    moved: Collection[str]

    def date_of(self, day: str) -> str:
        return self.date.format(day)

    def once(self, columns: str, within_day: str, over_all: str, moved: str) -> str:
        """Return the SQL of rows that count once: the text for keys of one day, and that for those in a relation of
        MOVED.
        """
        table, key = MOVED[moved]
        same = " AND ".join(f"m.{name} = r.{name}" for name in key)
        texts = ((within_day, "NOT EXISTS"), (over_all, "EXISTS")) if moved in self.moved else ((within_day, ""),)
        parts = [
            f"SELECT {columns}\nFROM (\n  {text.strip()}\n  FROM {table} AS r"
            + (f"\n  WHERE {word} (SELECT 1 FROM {moved} AS m WHERE {same})" if word else "")
            + "\n) AS told\nWHERE place = 1"
            for text, word in texts
        ]
        return "\nUNION ALL\n".join(parts)


def _replies(form: _Form) -> str:
    columns = (
        f"host, session, agent, project, reply, turn, {', '.join(_NUMBERS[:-1])}, is_final, stop_reason, calls, text,\n"
        f"  {_ADDED}, command, skill, {form.date_of('day')} AS date"
    )

    def text(key: str) -> str:
        best = (
            f"PARTITION BY {key} ORDER BY output DESC, input + cache_write_5m + cache_write_1h + cache_read DESC, "
            "time DESC, model DESC, host, path, file"
        )
        first = ", ".join(
            name if name in key.split(", ") else f"first_value({name}) OVER ({best}) AS {name}" for name in _NUMBERS
        )
        return f"""
  SELECT host, session, agent, project, reply, turn, stop_reason, calls, text, {_OWNER}, command, skill,
    {first},
    max(is_final) OVER (PARTITION BY {key}) AS is_final,
    row_number() OVER (PARTITION BY {key} {_FIRST}) AS place"""

    return form.once(columns, text("reply, day"), text("reply"), "moved_reply")


def _calls(form: _Form) -> str:
    names = (
        "host, session, agent, project, call, reply, turn, time, time_ms, day, tool, server, subject, took_ms, is_open,\n"
        "  failed, error, output_chars, began_agent"
    )
    more = "refused, agent_type, skill, lines_added, lines_removed"

    def text(key: str) -> str:
        return f"""
  SELECT {names}, {_OWNER}, week, {more},
    row_number() OVER (PARTITION BY {key} {_FIRST}) AS place"""

    columns = f"{names}, {_ADDED},\n  {more}, {form.date_of('day')} AS date"
    return form.once(columns, text("call, day"), text("call"), "moved_call")


def _turns(form: _Form) -> str:
    names = (
        "host, session, agent, project, turn, time, time_ms, day, kind, state, took_ms, replies, calls, failed, prompt,\n"
        "  round, round_kind, input, complexity"
    )

    def text(key: str) -> str:
        return f"""
  SELECT {names}, {_OWNER}, week, command,
    row_number() OVER (PARTITION BY {key} ORDER BY time DESC, path, file) AS place"""

    key = "host, session, agent, turn"
    columns = f"{names}, {_ADDED}, command, {form.date_of('day')} AS date"
    return form.once(columns, text(f"{key}, day"), text(key), "moved_turn")


def _file_changes(form: _Form) -> str:
    return f"""
SELECT c.host, c.session, c.agent, c.project, c.call, c.turn, c.time, c.time_ms, c.day, c.tool, c.changed_file AS path,
  c.lines_added AS added, c.lines_removed AS removed, c.user_modified, coalesce(t.prompt, '') AS prompt,
  c.developer, c.machine, c.team, c.week, substr(c.day, 1, 7) AS month, {form.date_of("c.day")} AS date
FROM (
  SELECT k.host, k.session, k.agent, k.project, k.call, k.turn, k.time, k.time_ms, k.day, k.tool, k.changed_file,
    k.lines_added, k.lines_removed, k.user_modified, k.developer, k.machine, k.team, k.week,
    row_number() OVER (PARTITION BY k.call ORDER BY k.is_copy, f.ended, k.path, k.host, k.file) AS place
  FROM fact_call AS k JOIN fact_file AS f ON f.host = k.host AND f.file = k.file
  WHERE k.changed_file <> ''
) AS c
LEFT JOIN turns AS t ON t.host = c.host AND t.session = c.session AND t.agent = c.agent AND t.turn = c.turn
WHERE c.place = 1
"""


def _git(form: _Form, kind: str, columns: str) -> str:
    return f"""
SELECT host, session, agent, project, {columns}, turn, time, time_ms, day, call, {_ADDED},
  {form.date_of("day")} AS date
FROM (
  SELECT host, session, agent, project, name, turn, time, time_ms, day, call, repository, branch, message, {_OWNER}, week,
    row_number() OVER (PARTITION BY name {_FIRST}) AS place
  FROM fact_git WHERE kind = '{kind}'
) AS told
WHERE place = 1
"""


def _sessions(form: _Form) -> str:
    return f"""
SELECT f.host, f.session, f.project, f.folder, f.branch, f.version, f.title, f.started, f.started_ms, f.ended, f.ended_ms,
  f.day, f.lines, f.bytes, f.damaged, f.compactions, f.branches,
  coalesce(t.turns, 0) AS turns, coalesce(a.agents, 0) AS agents, coalesce(c.calls, 0) AS calls,
  coalesce(c.failed, 0) AS failed, coalesce(r.replies, 0) AS replies,
  {", ".join(f"coalesce(r.{name}, 0) AS {name}" for name in _TOKENS)}, r.cost_micros, f.rounds, f.slug,
  f.developer, f.machine, f.team, f.week, substr(f.day, 1, 7) AS month, coalesce(c.refused, 0) AS refused,
  coalesce(c.lines_added, 0) AS lines_added, coalesce(c.lines_removed, 0) AS lines_removed,
  coalesce(g.commits, 0) AS commits, coalesce(g.pull_requests, 0) AS pull_requests, {form.date_of("f.day")} AS date
FROM (
  SELECT host, session, project, folder, branch, version, title, started, started_ms, ended, ended_ms, day, lines, bytes,
    damaged, compactions, branches, rounds, slug, {_OWNER}, week,
    row_number() OVER (PARTITION BY host, session ORDER BY ended DESC, lines DESC, path, file) AS place
  FROM fact_file WHERE agent = ''
) AS f
LEFT JOIN (
  SELECT host, session, count(*) AS turns FROM turns WHERE agent = '' GROUP BY host, session
) AS t ON t.host = f.host AND t.session = f.session
LEFT JOIN (
  SELECT host, session, count(*) AS agents FROM fact_file WHERE agent <> '' GROUP BY host, session
) AS a ON a.host = f.host AND a.session = f.session
LEFT JOIN (
  SELECT host, session, count(*) AS calls, CAST(sum(failed) AS BIGINT) AS failed, CAST(sum(refused) AS BIGINT) AS refused,
    CAST(sum(lines_added) AS BIGINT) AS lines_added, CAST(sum(lines_removed) AS BIGINT) AS lines_removed
  FROM (
    SELECT host, session, call, max(failed) AS failed, max(refused) AS refused, max(lines_added) AS lines_added,
      max(lines_removed) AS lines_removed
    FROM fact_call GROUP BY host, session, call
  ) AS own GROUP BY host, session
) AS c ON c.host = f.host AND c.session = f.session
LEFT JOIN (
  SELECT host, session, count(DISTINCT CASE WHEN kind = 'commit' THEN name END) AS commits,
    count(DISTINCT CASE WHEN kind = 'pull_request' THEN name END) AS pull_requests
  FROM fact_git GROUP BY host, session
) AS g ON g.host = f.host AND g.session = f.session
LEFT JOIN (
  SELECT host, session, count(*) AS replies, {_SUMS}
  FROM replies GROUP BY host, session
) AS r ON r.host = f.host AND r.session = f.session
WHERE f.place = 1
"""


def _agents(form: _Form) -> str:
    return f"""
SELECT f.host, f.session, f.agent, f.project,
  CASE WHEN f.agent_type <> '' THEN f.agent_type ELSE coalesce(c.agent_type, '') END AS agent_type,
  coalesce(c.call, '') AS call, f.started, f.started_ms, f.ended, f.ended_ms, f.day,
  coalesce(r.replies, 0) AS replies, {", ".join(f"coalesce(r.{name}, 0) AS {name}" for name in _TOKENS)}, r.cost_micros,
  f.developer, f.machine, f.team, f.week, substr(f.day, 1, 7) AS month, {form.date_of("f.day")} AS date
FROM (
  SELECT host, session, agent, project, agent_type, started, started_ms, ended, ended_ms, day, {_OWNER}, week,
    row_number() OVER (PARTITION BY host, session, agent ORDER BY ended DESC, lines DESC, path, file) AS place
  FROM fact_file WHERE agent <> ''
) AS f
LEFT JOIN (
  SELECT host, session, began_agent, max(agent_type) AS agent_type, max(call) AS call
  FROM fact_call WHERE began_agent <> '' GROUP BY host, session, began_agent
) AS c ON c.host = f.host AND c.session = f.session AND c.began_agent = f.agent
LEFT JOIN (
  SELECT host, session, agent, count(*) AS replies, {_SUMS}
  FROM replies WHERE agent <> '' GROUP BY host, session, agent
) AS r ON r.host = f.host AND r.session = f.session AND r.agent = f.agent
WHERE f.place = 1
"""


def _usage(form: _Form) -> str:
    return f"""
SELECT day, host, project, model, count(*) AS replies,
  {_SUMS},
  {_OWNER}, week, month, {form.date_of("day")} AS date
FROM replies GROUP BY day, host, project, model, {_OWNER}, week, month
"""


def _waits(form: _Form) -> str:
    """The smallest wait that is not exceeded by a share of the turns: whole numbers, and so the same everywhere."""
    by = f"day, host, project, {_OWNER}, week, month"
    shares = ", ".join(
        f"min(CASE WHEN place * 100 >= turns * {share} THEN took_ms END) AS p{share}_ms" for share in (50, 90, 95)
    )
    return f"""
SELECT day, host, project, count(*) AS turns, {shares}, max(took_ms) AS longest_ms, {_OWNER}, week, month,
  {form.date_of("day")} AS date
FROM (
  SELECT {by}, took_ms, count(*) OVER (PARTITION BY {by}) AS turns,
    row_number() OVER (PARTITION BY {by} ORDER BY took_ms) AS place
  FROM turns WHERE agent = '' AND took_ms > 0
) AS ranked
GROUP BY {by}
"""


def build_views(date: str, moved: Collection[str] = tuple(MOVED)) -> dict[str, str]:
    """Return the SQL by view name, in an order in which they can be created.

    `date` is the form of a date, and `moved` names the relations of MOVED that are needed; they exist.
    """
    form = _Form(date, moved)
    texts = {
        "turns": _turns(form),
        "replies": _replies(form),
        "calls": _calls(form),
        "file_changes": _file_changes(form),
        "commits": _git(form, "commit", "name AS hash, branch, message"),
        "pull_requests": _git(form, "pull_request", "name AS url, repository"),
        "sessions": _sessions(form),
        "agents": _agents(form),
        "usage_daily": _usage(form),
        "waits_daily": _waits(form),
    }
    return {name: text.strip() for name, text in texts.items()}


VIEWS = build_views(TEXT_DATE)
"""The views of SQLite; their names are those of every engine."""
