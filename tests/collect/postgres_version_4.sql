BEGIN;

SELECT pg_advisory_xact_lock(hashtext('clew.setup'));

DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'clew_writer') THEN CREATE ROLE clew_writer NOLOGIN; END IF;
END $$;

DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'clew_reader') THEN CREATE ROLE clew_reader NOLOGIN; END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS clew;

GRANT USAGE ON SCHEMA clew TO clew_writer, clew_reader;

CREATE TABLE IF NOT EXISTS clew.about(name text PRIMARY KEY, value text NOT NULL);

INSERT INTO clew.about VALUES('version', '4') ON CONFLICT (name) DO UPDATE SET value = excluded.value;

INSERT INTO clew.about VALUES('id', gen_random_uuid()::text) ON CONFLICT (name) DO NOTHING;

GRANT SELECT ON clew.about TO clew_writer, clew_reader;

CREATE TABLE IF NOT EXISTS clew.host(
  host text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL, seen timestamptz NOT NULL DEFAULT now(), writer name NOT NULL DEFAULT session_user);

ALTER TABLE clew.host ADD COLUMN IF NOT EXISTS mark bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.host ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS own ON clew.host;

CREATE POLICY own ON clew.host TO clew_writer USING (writer = session_user) WITH CHECK (writer = session_user);

DROP POLICY IF EXISTS seen ON clew.host;

CREATE POLICY seen ON clew.host FOR SELECT TO clew_reader USING (true);

GRANT SELECT, INSERT, UPDATE ON clew.host TO clew_writer;

GRANT SELECT ON clew.host TO clew_reader;

CREATE TABLE IF NOT EXISTS clew.line(
  host text COLLATE "C" NOT NULL,
  file bigint NOT NULL,
  generation bigint NOT NULL,
  start bigint NOT NULL,
  day text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  number bigint NOT NULL,
  length bigint NOT NULL,
  path text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  uuid text COLLATE "C" NOT NULL,
  time text COLLATE "C" NOT NULL,
  time_ms bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  masked bigint NOT NULL,
  withheld text COLLATE "C" NOT NULL,
  raw bytea, writer name NOT NULL DEFAULT session_user,
  PRIMARY KEY(host, file, generation, start, day)) PARTITION BY LIST (day);

CREATE TABLE IF NOT EXISTS clew.line_undated PARTITION OF clew.line FOR VALUES IN ('');

CREATE INDEX IF NOT EXISTS line_session ON clew.line(session, time_ms);

CREATE INDEX IF NOT EXISTS line_time ON clew.line USING brin(time_ms);

ALTER TABLE clew.line ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS own ON clew.line;

CREATE POLICY own ON clew.line TO clew_writer USING (writer = session_user) WITH CHECK (writer = session_user);

DROP POLICY IF EXISTS seen ON clew.line;

CREATE POLICY seen ON clew.line FOR SELECT TO clew_reader USING (true);

GRANT INSERT ON clew.line TO clew_writer;

GRANT SELECT ON clew.line TO clew_reader;

CREATE OR REPLACE FUNCTION clew.make_days(days text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one text;
  made text;
BEGIN
  FOREACH one IN ARRAY days LOOP
    IF one !~ '^20[0-9][0-9]-[01][0-9]-[0-3][0-9]$' THEN
      RAISE EXCEPTION 'no day: %', left(one, 20) USING ERRCODE = '22007';
    END IF;
    made := 'line_' || replace(one, '-', '_');
    CONTINUE WHEN to_regclass('clew.' || made) IS NOT NULL;
    LOCK TABLE clew.line IN SHARE UPDATE EXCLUSIVE MODE;
    CONTINUE WHEN to_regclass('clew.' || made) IS NOT NULL;
    EXECUTE format('CREATE TABLE clew.%I (LIKE clew.line INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', made);
    EXECUTE format('ALTER TABLE clew.line ATTACH PARTITION clew.%I FOR VALUES IN (%L)', made, one);
  END LOOP;
END $$;

REVOKE ALL ON FUNCTION clew.make_days(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION clew.make_days(text[]) TO clew_writer;

CREATE TABLE IF NOT EXISTS clew.fact_file(
  host text COLLATE "C" NOT NULL,
  file bigint NOT NULL,
  path text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  developer text COLLATE "C" NOT NULL,
  machine text COLLATE "C" NOT NULL,
  team text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  title text COLLATE "C" NOT NULL,
  folder text COLLATE "C" NOT NULL,
  branch text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  started text COLLATE "C" NOT NULL,
  started_ms bigint NOT NULL,
  ended text COLLATE "C" NOT NULL,
  ended_ms bigint NOT NULL,
  day text COLLATE "C" NOT NULL,
  week text COLLATE "C" NOT NULL,
  lines bigint NOT NULL,
  bytes bigint NOT NULL,
  damaged bigint NOT NULL,
  compactions bigint NOT NULL,
  branches bigint NOT NULL,
  rounds bigint NOT NULL,
  slug text COLLATE "C" NOT NULL,
  writer name NOT NULL DEFAULT session_user,
  PRIMARY KEY(host, file));

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS host text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS file bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS path text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS project text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS session text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS agent text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS developer text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS machine text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS team text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS seq bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS title text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS folder text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS branch text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS version text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS started text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS started_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS ended text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS ended_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS day text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS week text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS lines bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS damaged bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS compactions bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS branches bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS rounds bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS slug text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX IF NOT EXISTS fact_file_day ON clew.fact_file(day, project);

ALTER TABLE clew.fact_file ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS own ON clew.fact_file;

CREATE POLICY own ON clew.fact_file TO clew_writer USING (writer = session_user) WITH CHECK (writer = session_user);

DROP POLICY IF EXISTS seen ON clew.fact_file;

CREATE POLICY seen ON clew.fact_file FOR SELECT TO clew_reader USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON clew.fact_file TO clew_writer;

GRANT SELECT ON clew.fact_file TO clew_reader;

CREATE TABLE IF NOT EXISTS clew.fact_turn(
  host text COLLATE "C" NOT NULL,
  file bigint NOT NULL,
  path text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  developer text COLLATE "C" NOT NULL,
  machine text COLLATE "C" NOT NULL,
  team text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  time text COLLATE "C" NOT NULL,
  time_ms bigint NOT NULL,
  day text COLLATE "C" NOT NULL,
  week text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  took_ms bigint NOT NULL,
  replies bigint NOT NULL,
  calls bigint NOT NULL,
  failed bigint NOT NULL,
  prompt text COLLATE "C" NOT NULL,
  round bigint NOT NULL,
  round_kind text COLLATE "C" NOT NULL,
  input text COLLATE "C" NOT NULL,
  complexity text COLLATE "C" NOT NULL,
  writer name NOT NULL DEFAULT session_user,
  PRIMARY KEY(host, file, turn));

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS host text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS file bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS path text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS project text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS session text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS agent text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS developer text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS machine text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS team text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS turn bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS time text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS time_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS day text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS week text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS kind text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS state text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS took_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS replies bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS calls bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS failed bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS prompt text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS round bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS round_kind text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS input text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_turn ADD COLUMN IF NOT EXISTS complexity text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX IF NOT EXISTS fact_turn_day ON clew.fact_turn(day, project);

ALTER TABLE clew.fact_turn ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS own ON clew.fact_turn;

CREATE POLICY own ON clew.fact_turn TO clew_writer USING (writer = session_user) WITH CHECK (writer = session_user);

DROP POLICY IF EXISTS seen ON clew.fact_turn;

CREATE POLICY seen ON clew.fact_turn FOR SELECT TO clew_reader USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON clew.fact_turn TO clew_writer;

GRANT SELECT ON clew.fact_turn TO clew_reader;

CREATE TABLE IF NOT EXISTS clew.fact_reply(
  host text COLLATE "C" NOT NULL,
  file bigint NOT NULL,
  path text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  developer text COLLATE "C" NOT NULL,
  machine text COLLATE "C" NOT NULL,
  team text COLLATE "C" NOT NULL,
  reply text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  time text COLLATE "C" NOT NULL,
  time_ms bigint NOT NULL,
  day text COLLATE "C" NOT NULL,
  week text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  stop_reason text COLLATE "C" NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  cache_write_5m bigint NOT NULL,
  cache_write_1h bigint NOT NULL,
  cache_read bigint NOT NULL,
  web_searches bigint NOT NULL,
  web_fetches bigint NOT NULL,
  cost_micros bigint,
  calls bigint NOT NULL,
  is_final bigint NOT NULL,
  is_copy bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  writer name NOT NULL DEFAULT session_user,
  PRIMARY KEY(host, file, reply));

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS host text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS file bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS path text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS project text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS session text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS agent text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS developer text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS machine text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS team text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS reply text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS turn bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS time text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS time_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS day text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS week text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS model text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS stop_reason text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS input bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS output bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS cache_write_5m bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS cache_write_1h bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS cache_read bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS web_searches bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS web_fetches bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS cost_micros bigint;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS calls bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS is_final bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS is_copy bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_reply ADD COLUMN IF NOT EXISTS text text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX IF NOT EXISTS fact_reply_name ON clew.fact_reply(reply);

CREATE INDEX IF NOT EXISTS fact_reply_day ON clew.fact_reply(day, project);

ALTER TABLE clew.fact_reply ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS own ON clew.fact_reply;

CREATE POLICY own ON clew.fact_reply TO clew_writer USING (writer = session_user) WITH CHECK (writer = session_user);

DROP POLICY IF EXISTS seen ON clew.fact_reply;

CREATE POLICY seen ON clew.fact_reply FOR SELECT TO clew_reader USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON clew.fact_reply TO clew_writer;

GRANT SELECT ON clew.fact_reply TO clew_reader;

CREATE TABLE IF NOT EXISTS clew.fact_call(
  host text COLLATE "C" NOT NULL,
  file bigint NOT NULL,
  path text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  developer text COLLATE "C" NOT NULL,
  machine text COLLATE "C" NOT NULL,
  team text COLLATE "C" NOT NULL,
  call text COLLATE "C" NOT NULL,
  reply text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  time text COLLATE "C" NOT NULL,
  time_ms bigint NOT NULL,
  day text COLLATE "C" NOT NULL,
  week text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  took_ms bigint NOT NULL,
  is_open bigint NOT NULL,
  failed bigint NOT NULL,
  error text COLLATE "C" NOT NULL,
  output_chars bigint NOT NULL,
  began_agent text COLLATE "C" NOT NULL,
  is_copy bigint NOT NULL,
  changed_file text COLLATE "C" NOT NULL,
  lines_added bigint NOT NULL,
  lines_removed bigint NOT NULL,
  user_modified bigint NOT NULL,
  writer name NOT NULL DEFAULT session_user,
  PRIMARY KEY(host, file, call));

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS host text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS file bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS path text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS project text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS session text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS agent text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS developer text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS machine text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS team text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS call text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS reply text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS turn bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS time text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS time_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS day text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS week text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS tool text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS server text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS subject text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS took_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS is_open bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS failed bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS error text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS output_chars bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS began_agent text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS is_copy bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS changed_file text COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS lines_added bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS lines_removed bigint NOT NULL DEFAULT 0;

ALTER TABLE clew.fact_call ADD COLUMN IF NOT EXISTS user_modified bigint NOT NULL DEFAULT 0;

CREATE INDEX IF NOT EXISTS fact_call_name ON clew.fact_call(call);

CREATE INDEX IF NOT EXISTS fact_call_day ON clew.fact_call(day, project);

ALTER TABLE clew.fact_call ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS own ON clew.fact_call;

CREATE POLICY own ON clew.fact_call TO clew_writer USING (writer = session_user) WITH CHECK (writer = session_user);

DROP POLICY IF EXISTS seen ON clew.fact_call;

CREATE POLICY seen ON clew.fact_call FOR SELECT TO clew_reader USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON clew.fact_call TO clew_writer;

GRANT SELECT ON clew.fact_call TO clew_reader;

SET LOCAL search_path TO clew;

CREATE OR REPLACE VIEW clew.turns WITH (security_invoker = true) AS
SELECT host, session, agent, project, turn, time, time_ms, day, kind, state, took_ms, replies, calls, failed, prompt,
  round, round_kind, input, complexity, developer, machine, team, week, substr(day, 1, 7) AS month
FROM (
  SELECT host, session, agent, project, turn, time, time_ms, day, kind, state, took_ms, replies, calls, failed, prompt,
    round, round_kind, input, complexity, developer, machine, team, week,
    row_number() OVER (PARTITION BY host, session, agent, turn ORDER BY time DESC, path, file) AS place
  FROM fact_turn
) AS told
WHERE place = 1;

GRANT SELECT ON clew.turns TO clew_writer, clew_reader;

CREATE OR REPLACE VIEW clew.replies WITH (security_invoker = true) AS
SELECT host, session, agent, project, reply, turn, time, time_ms, day, model, input, output, cache_write_5m, cache_write_1h, cache_read, web_searches, web_fetches, cost_micros, is_final, stop_reason, calls, text,
  developer, machine, team, week, substr(day, 1, 7) AS month
FROM (
  SELECT host, session, agent, project, reply, turn, stop_reason, calls, text, developer, machine, team,
    first_value(time) OVER best AS time, first_value(time_ms) OVER best AS time_ms, first_value(day) OVER best AS day, first_value(model) OVER best AS model, first_value(input) OVER best AS input, first_value(output) OVER best AS output, first_value(cache_write_5m) OVER best AS cache_write_5m, first_value(cache_write_1h) OVER best AS cache_write_1h, first_value(cache_read) OVER best AS cache_read, first_value(web_searches) OVER best AS web_searches, first_value(web_fetches) OVER best AS web_fetches, first_value(cost_micros) OVER best AS cost_micros, first_value(week) OVER best AS week,
    max(is_final) OVER (PARTITION BY reply) AS is_final,
    row_number() OVER (PARTITION BY reply ORDER BY is_copy, path, host, file) AS place
  FROM fact_reply
  WINDOW best AS (PARTITION BY reply ORDER BY output DESC, input + cache_write_5m + cache_write_1h + cache_read DESC, time DESC, model DESC, host, path, file)
) AS told
WHERE place = 1;

GRANT SELECT ON clew.replies TO clew_writer, clew_reader;

CREATE OR REPLACE VIEW clew.calls WITH (security_invoker = true) AS
SELECT host, session, agent, project, call, reply, turn, time, time_ms, day, tool, server, subject, took_ms, is_open, failed,
  error, output_chars, began_agent, developer, machine, team, week, substr(day, 1, 7) AS month
FROM (
  SELECT host, session, agent, project, call, reply, turn, time, time_ms, day, tool, server, subject, took_ms, is_open,
    failed, error, output_chars, began_agent, developer, machine, team, week,
    row_number() OVER (PARTITION BY call ORDER BY is_copy, path, host, file) AS place
  FROM fact_call
) AS told
WHERE place = 1;

GRANT SELECT ON clew.calls TO clew_writer, clew_reader;

CREATE OR REPLACE VIEW clew.file_changes WITH (security_invoker = true) AS
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
WHERE c.place = 1;

GRANT SELECT ON clew.file_changes TO clew_writer, clew_reader;

CREATE OR REPLACE VIEW clew.sessions WITH (security_invoker = true) AS
SELECT f.host, f.session, f.project, f.folder, f.branch, f.version, f.title, f.started, f.started_ms, f.ended, f.ended_ms,
  f.day, f.lines, f.bytes, f.damaged, f.compactions, f.branches,
  coalesce(t.turns, 0) AS turns, coalesce(a.agents, 0) AS agents, coalesce(c.calls, 0) AS calls,
  coalesce(c.failed, 0) AS failed, coalesce(r.replies, 0) AS replies,
  coalesce(r.input, 0) AS input, coalesce(r.output, 0) AS output, coalesce(r.cache_write_5m, 0) AS cache_write_5m, coalesce(r.cache_write_1h, 0) AS cache_write_1h, coalesce(r.cache_read, 0) AS cache_read, coalesce(r.web_searches, 0) AS web_searches, coalesce(r.web_fetches, 0) AS web_fetches, r.cost_micros, f.rounds, f.slug,
  f.developer, f.machine, f.team, f.week, substr(f.day, 1, 7) AS month
FROM (
  SELECT host, session, project, folder, branch, version, title, started, started_ms, ended, ended_ms, day, lines, bytes,
    damaged, compactions, branches, rounds, slug, developer, machine, team, week,
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
  SELECT host, session, count(*) AS replies, CAST(sum(input) AS BIGINT) AS input,
  CAST(sum(output) AS BIGINT) AS output,
  CAST(sum(cache_write_5m) AS BIGINT) AS cache_write_5m,
  CAST(sum(cache_write_1h) AS BIGINT) AS cache_write_1h,
  CAST(sum(cache_read) AS BIGINT) AS cache_read,
  CAST(sum(web_searches) AS BIGINT) AS web_searches,
  CAST(sum(web_fetches) AS BIGINT) AS web_fetches,
  CAST(sum(cost_micros) AS BIGINT) AS cost_micros
  FROM replies GROUP BY host, session
) AS r ON r.host = f.host AND r.session = f.session
WHERE f.place = 1;

GRANT SELECT ON clew.sessions TO clew_writer, clew_reader;

CREATE OR REPLACE VIEW clew.usage_daily WITH (security_invoker = true) AS
SELECT day, host, project, model, count(*) AS replies,
  CAST(sum(input) AS BIGINT) AS input,
  CAST(sum(output) AS BIGINT) AS output,
  CAST(sum(cache_write_5m) AS BIGINT) AS cache_write_5m,
  CAST(sum(cache_write_1h) AS BIGINT) AS cache_write_1h,
  CAST(sum(cache_read) AS BIGINT) AS cache_read,
  CAST(sum(web_searches) AS BIGINT) AS web_searches,
  CAST(sum(web_fetches) AS BIGINT) AS web_fetches,
  CAST(sum(cost_micros) AS BIGINT) AS cost_micros,
  developer, machine, team, week, month
FROM replies GROUP BY day, host, project, model, developer, machine, team, week, month;

GRANT SELECT ON clew.usage_daily TO clew_writer, clew_reader;

COMMIT;

