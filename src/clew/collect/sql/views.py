"""SQL of the views of `clew sql`, identical on every engine.

They use only what SQLite, PostgreSQL, DuckDB and Spark share: no quoted names, no engine-specific functions, sums
cast back to integers. A reply or call that occurs in several files is counted once: its numbers are those of the
occurrence with the most output, and its position is the first one that is not marked as a copy.
"""

from __future__ import annotations

_BEST = (
    "PARTITION BY reply ORDER BY output DESC, input + cache_write_5m + cache_write_1h + cache_read DESC, "
    "time DESC, model DESC, host, path, file"
)
_FIRST = "ORDER BY is_copy, path, host, file"
_TOKENS = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read", "web_searches", "web_fetches")
_NUMBERS = ("time", "time_ms", "day", "model", *_TOKENS, "cost_micros", "week")
_OWNER = "developer, machine, team"
_ADDED = f"{_OWNER}, week, substr(day, 1, 7) AS month"  # at the end: PostgreSQL replaces a view only with more columns
_SUMS = ",\n  ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in (*_TOKENS, "cost_micros"))

_REPLIES = f"""
SELECT host, session, agent, project, reply, turn, {", ".join(_NUMBERS[:-1])}, is_final, stop_reason, calls, text,
  {_ADDED}
FROM (
  SELECT host, session, agent, project, reply, turn, stop_reason, calls, text, {_OWNER},
    {", ".join(f"first_value({name}) OVER best AS {name}" for name in _NUMBERS)},
    max(is_final) OVER (PARTITION BY reply) AS is_final,
    row_number() OVER (PARTITION BY reply {_FIRST}) AS place
  FROM fact_reply
  WINDOW best AS ({_BEST})
) AS told
WHERE place = 1
"""

_CALLS = f"""
SELECT host, session, agent, project, call, reply, turn, time, time_ms, day, tool, server, subject, took_ms, is_open, failed,
  error, output_chars, began_agent, {_ADDED}
FROM (
  SELECT host, session, agent, project, call, reply, turn, time, time_ms, day, tool, server, subject, took_ms, is_open,
    failed, error, output_chars, began_agent, {_OWNER}, week,
    row_number() OVER (PARTITION BY call {_FIRST}) AS place
  FROM fact_call
) AS told
WHERE place = 1
"""

_FILE_CHANGES = """
SELECT c.host, c.session, c.agent, c.project, c.call, c.turn, c.time, c.time_ms, c.day, c.tool, c.changed_file AS path,
  c.lines_added AS added, c.lines_removed AS removed, c.user_modified, coalesce(t.prompt, '') AS prompt,
  c.developer, c.machine, c.team, c.week, substr(c.day, 1, 7) AS month
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

_TURNS = f"""
SELECT host, session, agent, project, turn, time, time_ms, day, kind, state, took_ms, replies, calls, failed, prompt,
  round, round_kind, input, complexity, {_ADDED}
FROM (
  SELECT host, session, agent, project, turn, time, time_ms, day, kind, state, took_ms, replies, calls, failed, prompt,
    round, round_kind, input, complexity, {_OWNER}, week,
    row_number() OVER (PARTITION BY host, session, agent, turn ORDER BY time DESC, path, file) AS place
  FROM fact_turn
) AS told
WHERE place = 1
"""

_SESSIONS = f"""
SELECT f.host, f.session, f.project, f.folder, f.branch, f.version, f.title, f.started, f.started_ms, f.ended, f.ended_ms,
  f.day, f.lines, f.bytes, f.damaged, f.compactions, f.branches,
  coalesce(t.turns, 0) AS turns, coalesce(a.agents, 0) AS agents, coalesce(c.calls, 0) AS calls,
  coalesce(c.failed, 0) AS failed, coalesce(r.replies, 0) AS replies,
  {", ".join(f"coalesce(r.{name}, 0) AS {name}" for name in _TOKENS)}, r.cost_micros, f.rounds, f.slug,
  f.developer, f.machine, f.team, f.week, substr(f.day, 1, 7) AS month
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
  SELECT host, session, count(*) AS calls, CAST(sum(failed) AS BIGINT) AS failed FROM (
    SELECT host, session, call, max(failed) AS failed FROM fact_call GROUP BY host, session, call
  ) AS own GROUP BY host, session
) AS c ON c.host = f.host AND c.session = f.session
LEFT JOIN (
  SELECT host, session, count(*) AS replies, {_SUMS}
  FROM replies GROUP BY host, session
) AS r ON r.host = f.host AND r.session = f.session
WHERE f.place = 1
"""

_USAGE = f"""
SELECT day, host, project, model, count(*) AS replies,
  {_SUMS},
  {_OWNER}, week, month
FROM replies GROUP BY day, host, project, model, {_OWNER}, week, month
"""

VIEWS = {
    "turns": _TURNS.strip(),
    "replies": _REPLIES.strip(),
    "calls": _CALLS.strip(),
    "file_changes": _FILE_CHANGES.strip(),
    "sessions": _SESSIONS.strip(),
    "usage_daily": _USAGE.strip(),
}
"""The SQL by view name, in an order in which they can be created."""
