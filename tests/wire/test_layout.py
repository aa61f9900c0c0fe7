"""Where things lie: discovery in every layout, the names of folders, and finding what a person asks for."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import Ambiguous, NotFound
from clew.wire.entry import Entry, read
from clew.wire.json_codec import encode
from clew.wire.layout import Project, SessionFile, Tree, claude_dir, session_at, slug, slugs, unslug
from clew.wire.lookup import find_project, find_session
from clew.wire.prompt_history import read_history
from clew.wire.side_files import read_settings, read_stats, read_todos
from tests.oracle.claude import Box, Unavailable
from tests.step_count import assert_linear

ONE = "11111111-aaaa-4bbb-8ccc-000000000001"
TWO = "11112222-aaaa-4bbb-8ccc-000000000002"
THREE = "99999999-aaaa-4bbb-8ccc-000000000003"


def put(path: Path, *values: dict[str, Any] | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(v if isinstance(v, bytes) else encode(v) + b"\n" for v in values))
    return path


def user(text: str = "hi", **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "claude")


def project(tree: Tree, name: str = "-home-dev-proj") -> Project:
    folder = tree.root / "projects" / name
    folder.mkdir(parents=True, exist_ok=True)
    return Project(folder)


def session(where: Project, id: str = ONE, *values: dict[str, Any] | bytes) -> SessionFile:
    return session_at(put(where.folder / f"{id}.jsonl", *(values or (user(cwd="/home/dev/proj"),))))


# -- the folder of Claude Code


@pytest.mark.req("R002")
def test_claude_dir_is_home_unless_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert claude_dir() == tmp_path / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    assert claude_dir() == tmp_path / "elsewhere"
    assert claude_dir(tmp_path / "given") == tmp_path / "given"
    assert claude_dir("~/given") == tmp_path / "given"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    assert claude_dir() == tmp_path / ".claude"


def test_only_home_reads_the_environment() -> None:
    package = Path(sys.modules["clew"].__file__ or "").parent
    words = ("os.environ", "os.getenv", "Path.home")
    readers = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] != "facts"
        and any(word in path.read_text(encoding="utf-8") for word in words)
    ]
    assert sorted(readers) == ["system/environment.py"]


# -- listing


@pytest.mark.req("R001")
@pytest.mark.req("R350")
def test_every_folder_is_a_project_in_order_of_name(tree: Tree) -> None:
    for name in ("-b", "-a", "E--work"):
        project(tree, name)
    put(tree.root / "projects" / "stray.json", b"{}")
    assert [p.name for p in tree.projects()] == ["-a", "-b", "E--work"]


@pytest.mark.req("R014")
def test_nothing_there_is_an_empty_result(tree: Tree) -> None:
    assert tree.projects() == []
    assert (tree.plans(), tree.todos(ONE), tree.tasks(ONE), tree.file_history(ONE)) == ([], [], [], [])
    assert Project(tree.root / "projects" / "-gone").sessions() == []
    assert Project(tree.root / "projects" / "-gone").agents() == []


@pytest.mark.req("R003")
@pytest.mark.req("R004")
@pytest.mark.req("R012")
def test_only_uuid_names_are_sessions(tree: Tree) -> None:
    where = project(tree)
    session(where, TWO)
    session(where, ONE)
    (where.folder / f"{THREE}.jsonl").mkdir()
    for name in ("notes.jsonl", "agent-1234567.jsonl", "history.jsonl", f"{ONE}.jsonl.bak", f"{ONE}x.jsonl"):
        put(where.folder / name, user())
    put(tree.history, {"display": "hi"})
    found = where.sessions()
    assert [f.id for f in found] == [ONE, TWO]
    assert found[0].path == where.folder / f"{ONE}.jsonl"
    assert found[0].project_folder == where.folder
    assert found[0].size == found[0].path.stat().st_size
    assert found[0].mtime_ns == found[0].path.stat().st_mtime_ns
    assert found[0].folder == where.folder / ONE


@pytest.mark.req("R015")
def test_an_empty_file_is_listed_as_empty(tree: Tree) -> None:
    where = project(tree)
    put(where.folder / f"{ONE}.jsonl")
    session(where, TWO)
    assert [(f.id, f.is_empty) for f in where.sessions()] == [(ONE, True), (TWO, False)]


@pytest.mark.req("R011")
def test_memory_and_index_are_reported_when_present(tree: Tree) -> None:
    where = project(tree)
    (where.folder / "memory").mkdir()
    assert where.memory is None
    assert where.index is None
    memory = put(where.folder / "memory" / "MEMORY.md", b"# Notes\n")
    index = put(where.folder / "sessions-index.json", b"{}")
    assert [where.memory, where.index] == [memory, index]


@pytest.mark.req("R013")
def test_the_other_parts_of_the_tree(tree: Tree) -> None:
    plan = put(tree.root / "plans" / "quiet-humming-owl.md", b"# Plan\n")
    own = put(tree.root / "todos" / f"{ONE}-agent-{ONE}.json", b"[]")
    agent = put(tree.root / "todos" / f"{ONE}-agent-a1b2c3d.json", b"[]")
    put(tree.root / "todos" / f"{TWO}-agent-{TWO}.json", b"[]")
    tasks = [put(tree.root / "tasks" / ONE / f"{n}.json", b"{}") for n in (1, 2, 10)]
    put(tree.root / "tasks" / ONE / ".lock")
    backup = put(tree.root / "file-history" / ONE / "0123456789abcdef@v1", b"old")
    assert tree.plans() == [plan]
    assert tree.todos(ONE) == [own, agent]
    assert tree.tasks(ONE) == tasks
    assert tree.file_history(ONE) == [backup]
    assert tree.tasks("../todos") == tree.file_history("..") == []
    assert (tree.stats.name, tree.settings.name) == ("stats-cache.json", "settings.json")


@pytest.mark.req("R017")
def test_recalls_are_made_only_when_asked_for(tree: Tree) -> None:
    assert tree.recalls_dir() == tree.root / "recalls"
    assert not tree.recalls_dir().exists()
    assert tree.recalls_dir(create=True).is_dir()
    assert tree.recalls_dir(create=True).is_dir()


@pytest.mark.req("R349")
def test_reading_writes_nothing(tree: Tree) -> None:
    where = project(tree)
    file = session(where)
    put(where.folder / "agent-1234567.jsonl", user("Warmup", sessionId=ONE))
    before = {p: p.stat().st_mtime_ns for p in tree.root.rglob("*")}
    assert find_session(tree, ONE) == file
    assert find_project(tree, "proj") == where
    assert [a.is_warmup for a in file.agents()] == [True]
    assert (read_stats(tree.stats), read_todos(tree.root / "todos" / "x.json")) == (None, ())
    assert read_settings(tree.settings).cleanup_period_days is None
    assert list(read_history(tree.history)) == []
    tree.recalls_dir()
    assert {p: p.stat().st_mtime_ns for p in tree.root.rglob("*")} == before


@pytest.mark.req("R345")
def test_listing_opens_no_file(tree: Tree) -> None:
    for n in range(3):
        where = project(tree, f"-p{n}")
        for m in range(20):
            session(where, f"{n:08x}-0000-4000-8000-{m:012x}")
            put(where.folder / f"{n:08x}-0000-4000-8000-{m:012x}" / "subagents" / f"agent-a{m}.jsonl", user())
    script = """if True:
        import sys
        from pathlib import Path
        from clew.wire.layout import Tree
        from clew.wire.lookup import find_session
        opened = []
        sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
        tree = Tree(Path(sys.argv[1]))
        count = sum(len(p.sessions()) + len(p.agents()) for p in tree.projects())
        print(count, find_session(tree, sys.argv[2]).id, opened)
    """
    wanted = "00000002-0000-4000-8000-000000000011"
    assert run(script, str(tree.root), wanted) == f"120 {wanted} []\n"


def run(script: str, *arguments: str) -> str:
    source = str(Path(sys.modules["clew"].__file__ or "").parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], env=environment, text=True, capture_output=True, check=True
    )
    return done.stdout


@pytest.mark.req("R016")
@pytest.mark.req("R345")
def test_a_long_session_is_found_and_streamed_in_little_memory(tree: Tree) -> None:
    where = project(tree)
    line = encode(user("x" * 20_000, cwd="/home/dev/proj")) + b"\n"
    file = session(where, ONE, *[line] * 700)
    assert file.size > 13_600_000
    tracemalloc.start()
    assert where.path().path == "/home/dev/proj"
    _, head = tracemalloc.get_traced_memory()
    count = sum(isinstance(item, Entry) for item in read(file.path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 700
    assert head < 1_000_000
    assert peak < file.size / 2


# -- agents


@pytest.fixture
def agents(tree: Tree) -> Project:
    where = project(tree)
    session(where, ONE)
    session(where, TWO)
    nested = where.folder / ONE / "subagents"
    put(nested / "agent-a1b2c3d4e5f607182.jsonl", user(sessionId=ONE))
    put(nested / "agent-a1b2c3d4e5f607182.meta.json", b'{"agentType":"Explore","toolUseId":"toolu_1"}')
    put(nested / "workflows" / "run-7" / "agent-awork.jsonl", user(sessionId=ONE))
    put(where.folder / "agent-1234567.jsonl", {"type": "x"}, user(sessionId=TWO))
    put(where.folder / "agent-nobody.jsonl", b"not json\n")
    put(where.folder / "subagents" / "agent-s3form.jsonl", user(sessionId=TWO.upper()))
    return where


@pytest.mark.req("R005")
@pytest.mark.req("R006")
@pytest.mark.req("R007")
@pytest.mark.req("R350")
def test_agents_in_every_layout(agents: Project) -> None:
    assert [(a.id, a.layout, a.session_id, a.run) for a in agents.agents()] == [
        ("a1b2c3d4e5f607182", "nested", ONE, None),
        ("awork", "nested", ONE, "run-7"),
        ("1234567", "flat", TWO, None),
        ("nobody", "flat", None, None),
        ("s3form", "project", TWO.upper(), None),
    ]


@pytest.mark.req("R005")
@pytest.mark.req("R006")
@pytest.mark.req("R007")
@pytest.mark.req("R191")
def test_agents_are_tied_to_their_session(agents: Project) -> None:
    one, two = agents.sessions()
    assert sorted(a.id for a in one.agents()) == ["a1b2c3d4e5f607182", "awork"]
    assert sorted(a.id for a in two.agents()) == ["1234567", "s3form"]


def test_agent_meta_is_read_where_there_is_one(agents: Project) -> None:
    metas = {a.id: a.meta() for a in agents.agents()}
    meta = metas["a1b2c3d4e5f607182"]
    assert meta is not None
    assert (meta.agent_type, meta.tool_use_id, meta.spawn_depth) == ("Explore", "toolu_1", None)
    assert metas["awork"] is None


@pytest.mark.req("R195")
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([user("Warmup")], True),
        ([user("Warmup"), b"\n"], True),
        ([{"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Warmup"}]}}], True),
        ([user("Warmup"), user("ready")], False),
        ([user("Warmup"), b"torn"], False),
        ([user("Warmup please")], False),
        ([b"Warmup\n"], False),
        ([], False),
    ],
)
def test_a_warmup_is_one_line_and_that_word(tree: Tree, lines: list[Any], expected: bool) -> None:
    where = project(tree)
    put(where.folder / "agent-1234567.jsonl", *lines)
    assert [a.is_warmup for a in where.agents()] == [expected]


def test_a_loop_of_links_among_agents_ends(tree: Tree) -> None:
    where = project(tree)
    nested = where.folder / ONE / "subagents"
    put(nested / "agent-a1.jsonl", user())
    (nested / "again").symlink_to(nested, target_is_directory=True)
    assert [a.id for a in where.agents()] == ["a1"]


# -- long outputs


@pytest.mark.req("R008")
@pytest.mark.req("R009")
def test_an_overflow_file_is_found_by_the_id_of_its_call(tree: Tree) -> None:
    file = session(project(tree))
    kept = file.folder / "tool-results"
    main = put(kept / "toolu_01AbC.txt", b"main")
    agent = put(kept / "toolu_02Agent.json", b"agent")
    mcp = put(kept / "mcp-server-toolu_03Mcp.txt", b"mcp")
    task = put(kept / "bi1uq8ude.txt", b"task")
    assert file.tool_results() == sorted([main, agent, mcp, task])
    assert file.tool_result("toolu_01AbC") == main
    assert file.tool_result("01AbC") == main
    assert file.tool_result("toolu_02Agent") == agent
    assert file.tool_result("toolu_03Mcp") == mcp
    assert file.tool_result("bi1uq8ude") == task
    assert file.tool_result("AbC") is None
    assert file.tool_result("") is None


def test_the_exact_name_comes_before_one_that_ends_alike(tree: Tree) -> None:
    file = session(project(tree))
    put(file.folder / "tool-results" / "a-toolu_1.txt", b"")
    put(file.folder / "tool-results" / "toolu_1.json", b"")
    exact = put(file.folder / "tool-results" / "toolu_1.txt", b"")
    assert file.tool_result("toolu_1") == exact


# -- names of folders


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param(
            "/home/flight/develop/tinyledger", "-home-flight-develop-tinyledger", marks=pytest.mark.req("R020")
        ),
        pytest.param("/Users/agutnikov/work/mtools", "-Users-agutnikov-work-mtools", marks=pytest.mark.req("R021")),
        pytest.param("/Users/naman/Desktop/project", "-Users-naman-Desktop-project", marks=pytest.mark.req("R022")),
        pytest.param("/home/user/project", "-home-user-project", marks=pytest.mark.req("R023")),
        pytest.param(r"E:\workspaces\project", "E--workspaces-project", marks=pytest.mark.req("R024")),
        pytest.param(r"C:\Users\admin\code", "C--Users-admin-code", marks=pytest.mark.req("R024")),
        pytest.param(r"C:\a/b", "C--a-b", marks=pytest.mark.req("R025")),
        pytest.param("/", "-", marks=pytest.mark.req("R026")),
        pytest.param("/a.b_c d@é\tZ", "-a-b-c-d---Z", marks=pytest.mark.req("R027")),
        pytest.param("/p/😀x", "-p---x", marks=pytest.mark.req("R027")),
        pytest.param("/p/日本", "-p---", marks=pytest.mark.req("R027")),
    ],
)
@pytest.mark.req("R346")
def test_slug(path: str, name: str) -> None:
    assert slug(path) == name
    assert slugs(path)[0] == name


@pytest.mark.req("R027")
@pytest.mark.parametrize(
    ("path", "ending"),
    [
        ("/home/dev/" + "a" * 190, "a" * 8),
        ("/home/dev/" + "a" * 191, "a-barnga"),
        ("/home/dev/" + "deep_folder/" * 25, "e-6jg9ll"),
        ("/home/dev/" + "😀" * 100, "--87cojd"),
    ],
)
def test_a_long_slug_is_cut_and_hashed(path: str, ending: str) -> None:
    assert slug(path)[-8:] == ending
    assert len(slug(path)) <= 207


@pytest.mark.req("R027")
@given(st.text(st.characters(exclude_categories=())) | st.text("ab/._-", min_size=190, max_size=260))
def test_a_slug_is_plain_short_and_always_the_same(path: str) -> None:
    name = slug(path)
    assert all(c.isascii() and (c.isalnum() or c == "-") for c in name)
    assert len(name) <= 208
    assert slug(path) == name
    assert len(name) > 200 or len(name) == len(path.encode("utf-16-le", "surrogatepass")) // 2
    assert not path or slugs(path)[0] == name
    assert isinstance(unslug(name), str)


@pytest.mark.req("R026")
@pytest.mark.req("R346")
def test_slugs_also_give_the_other_spellings() -> None:
    assert "-home-u-my_app" in slugs("/home/u/my_app")  # only the slash replaced
    assert "-home-u-my--app" in slugs("/home/u/my-app")  # a dash doubled
    assert "home-u" in slugs("/home/u")  # the leading dash stripped
    assert slugs(r"d:\work")[:2] == ["d--work", "D--work"]
    assert "-Users-u-caf-" in slugs("/Users/u/cafe\u0301")
    long = "/home/dev/" + "a" * 300
    assert slugs(long)[0] == slug(long)
    assert "-home-dev-" + "a" * 300 in slugs(long)
    assert slugs(long)[-1] == slug(long)[:200]
    assert len(slugs(long)) == len(set(slugs(long)))


@pytest.mark.req("R028")
@pytest.mark.req("R031")
def test_unslug_is_a_guess() -> None:
    assert unslug("E--workspaces-project") == r"E:\workspaces\project"
    assert unslug("-home-user-project") == "/home/user/project"
    assert unslug("-home-user--config-x") == "/home/user/.config/x"
    assert unslug("sample") == "sample"
    assert unslug(slug("/" + "a" * 250)) == "/" + "a" * 199
    assert slug("/a-b") == slug("/a/b")
    assert unslug(slug("/a-b")) == "/a/b"


# -- where a project lies


@pytest.mark.req("R029")
def test_the_index_knows_the_path_best(tree: Tree) -> None:
    where = project(tree, "-a-b")
    session(where, ONE, user(cwd="/a.b"))
    put(where.folder / "sessions-index.json", {"version": 1, "entries": [], "originalPath": "/a_b"})
    assert (where.path().path, where.path().source) == ("/a_b", "index")


@pytest.mark.req("R030")
def test_a_session_knows_the_path_too(tree: Tree) -> None:
    where = project(tree, "-a-b")
    put(where.folder / f"{ONE}.jsonl")
    session(where, TWO, {"type": "summary", "summary": "x"}, b"torn\n", user(), user(cwd="/a-b"))
    put(where.folder / "sessions-index.json", {"version": 1, "entries": [{"sessionId": ONE, "projectPath": "/a_b"}]})
    assert (where.path().path, where.path().source) == ("/a-b", "cwd")


@pytest.mark.req("R030")
def test_a_session_that_moved_is_not_believed_if_another_fits_the_name(tree: Tree) -> None:
    where = project(tree, "-a-b")
    session(where, ONE, user(cwd="/a-b/sub"))
    assert where.path().path == "/a-b/sub"
    session(where, TWO, user(cwd="/a-b"))
    assert where.path().path == "/a-b"


def test_an_agent_knows_the_path_when_its_session_is_gone(tree: Tree) -> None:
    where = project(tree, "-a-b")
    put(where.folder / ONE / "subagents" / "agent-a1.jsonl", user(cwd="/a-b"))
    assert (where.path().path, where.path().source) == ("/a-b", "cwd")


def test_a_line_longer_than_the_first_look_is_still_read(tree: Tree) -> None:
    where = project(tree, "-a-b")
    session(where, ONE, {"type": "user", "message": {"content": "x" * 3_000_000}, "cwd": "/a-b"})
    assert where.path().path == "/a-b"
    session(where, ONE, user(), user("x" * 500_000), user("x" * 500_000), user(cwd="/a.b"))
    assert where.path().path == "/a.b"


@pytest.mark.req("R028")
@pytest.mark.req("R031")
def test_without_a_witness_the_path_is_a_guess(tree: Tree) -> None:
    where = project(tree, "E--workspaces-project")
    session(where, ONE, {"type": "summary", "summary": "x"})
    assert (where.path().path, where.path().source) == (r"E:\workspaces\project", "guess")
    put(where.folder / "sessions-index.json", {"version": 1, "entries": [{"sessionId": ONE, "projectPath": "E:/w"}]})
    assert (where.path().path, where.path().source) == ("E:/w", "index")


# -- finding


def test_a_session_is_found_by_its_id_or_enough_of_it(tree: Tree) -> None:
    one, two = session(project(tree, "-a"), ONE), session(project(tree, "-b"), TWO)
    assert find_session(tree, ONE) == one
    assert find_session(tree, "11112") == two
    assert find_session(tree, "11111111-AAAA") == one
    assert find_session(tree, f"{TWO}.jsonl") == two


def test_a_session_is_found_by_its_path(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "export.jsonl", user())
    monkeypatch.chdir(tmp_path)
    assert find_session(tree, "export.jsonl").id == "export"
    assert find_session(tree, str(tmp_path / "export.jsonl")).size > 0
    with pytest.raises(NotFound):
        find_session(tree, str(tmp_path / "gone.jsonl"))


def test_an_ambiguous_beginning_lists_what_it_may_mean(tree: Tree) -> None:
    session(project(tree, "-b"), TWO)
    session(project(tree, "-a"), ONE)
    with pytest.raises(Ambiguous) as caught:
        find_session(tree, "1111")
    assert caught.value.matches == (ONE, TWO)


def test_one_id_in_two_projects_is_ambiguous_by_path(tree: Tree) -> None:
    paths = [str(session(project(tree, name), ONE).path) for name in ("-a", "-b")]
    with pytest.raises(Ambiguous) as caught:
        find_session(tree, ONE)
    assert caught.value.matches == tuple(paths)
    assert find_session(tree, paths[1]).path == Path(paths[1])


@pytest.mark.req("R015")
def test_a_session_with_content_comes_before_an_empty_one(tree: Tree) -> None:
    where = project(tree)
    put(where.folder / f"{ONE}.jsonl")
    assert find_session(tree, "1111").is_empty
    assert find_session(tree, "1111").id == ONE
    session(where, TWO)
    assert find_session(tree, "1111").id == TWO


@pytest.mark.parametrize("asked", ["", "zzzz", "../x", "*", "a" * 5000])
def test_an_unknown_session_is_not_found(tree: Tree, asked: str) -> None:
    session(project(tree), ONE)
    with pytest.raises(NotFound) as caught:
        find_session(tree, asked)
    assert caught.value.asked == asked


def test_a_typing_error_in_an_id_is_pointed_out(tree: Tree) -> None:
    session(project(tree), THREE)
    with pytest.raises(NotFound) as caught:
        find_session(tree, THREE[:20] + "f" + THREE[21:])
    assert caught.value.near == (THREE,)


def test_a_project_is_found_by_path_name_or_part(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "real.dir"
    here.mkdir()
    (tmp_path / "link").symlink_to(here, target_is_directory=True)
    where = project(tree, slug(str(here)))
    other = project(tree, "-srv-tinyledger")
    monkeypatch.chdir(here)
    assert find_project(tree, ".") == where
    assert find_project(tree, str(here)) == where
    assert find_project(tree, f"{here}/") == where
    assert find_project(tree, str(tmp_path / "link")) == where
    assert find_project(tree, "../real.dir") == where
    assert find_project(tree, where.name) == where
    assert find_project(tree, "/srv/tinyledger") == other
    assert find_project(tree, "tinyl") == other
    assert find_project(tree, "TinyLedger") == other
    assert find_project(tree, "srv/tiny") == other


def test_a_project_is_found_by_the_path_it_states(tree: Tree) -> None:
    where = project(tree, "renamed-copy")
    session(where, ONE, user(cwd="/home/dev/proj"))
    assert find_project(tree, "/home/dev/proj") == where
    assert find_project(tree, "dev/proj") == where


def test_a_path_is_never_taken_for_a_part(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(project(tree, "-srv-my-app"), ONE, user(cwd="/srv/my.app"))
    monkeypatch.chdir(tmp_path)
    for asked in (".", "..", "/", "/srv/my", "./my.app", "~", "E:\\"):
        with pytest.raises(NotFound):
            find_project(tree, asked)
    assert find_project(tree, ".app").name == "-srv-my-app"


@pytest.mark.req("R346")
def test_a_path_of_windows_is_found_in_any_case(tree: Tree) -> None:
    where = project(tree, "D--Work-App")
    assert find_project(tree, r"D:\Work\App") == where
    assert find_project(tree, r"d:\Work\App") == where
    assert find_project(tree, "d:\\work\\app\\") == where
    assert find_project(tree, "D:/Work/App") == where
    stated = project(tree, "copy")
    session(stated, ONE, user(cwd=r"E:\Other\Place"))
    assert find_project(tree, "e:/other/place") == stated


def test_a_long_path_is_found_under_every_rule_for_long_names(tree: Tree) -> None:
    path = "/srv/" + "deep/" * 45
    where = project(tree, slug(path.rstrip("/"))[:200] + "-zzzzzz")
    assert find_project(tree, path) == where
    exact = project(tree, slug(path.rstrip("/")))
    assert find_project(tree, path) == exact


def test_a_decomposed_path_is_found(tree: Tree) -> None:
    where = project(tree, slug("/srv/caf\u00e9"))
    assert find_project(tree, normalize("NFD", "/srv/caf\u00e9")) == where


def test_a_part_of_several_projects_is_ambiguous_unless_one_is_called_so(tree: Tree) -> None:
    for name in ("-srv-app", "-srv-app-server"):
        project(tree, name)
    session(project(tree, "-srv-app-server"), ONE, user(cwd="/srv/app-server"))
    with pytest.raises(Ambiguous) as caught:
        find_project(tree, "srv")
    assert caught.value.matches == ("/srv/app", "/srv/app-server")
    assert find_project(tree, "app").name == "-srv-app"


def test_an_unknown_project_is_not_found(tree: Tree) -> None:
    session(project(tree, "-srv-app-server"), ONE, user(cwd="/srv/app-server"))
    with pytest.raises(NotFound) as caught:
        find_project(tree, "app-servre")
    assert caught.value.near == ("/srv/app-server",)
    with pytest.raises(NotFound):
        find_project(tree, "")


# -- the real thing


SAMPLES = Path(__file__).parents[3] / "shared" / "oracle" / "samples"


@pytest.mark.shared
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.req("R005")
@pytest.mark.req("R006")
def test_folders_written_by_the_real_program() -> None:
    layouts = set()
    for root in sorted(SAMPLES.glob("2*/*/.claude")):
        for found in Tree(root).projects():
            stated = found.path()
            assert found.name in slugs(stated.path)
            sessions = {file.id for file in found.sessions()}
            for agent in found.agents():
                assert agent.session_id in sessions
                layouts.add(agent.layout)
    assert layouts == {"nested", "flat"}


@pytest.mark.oracle
@pytest.mark.req("R027")
@pytest.mark.parametrize("tail", ["a.b_c d@é", "x😀y", "/".join(["deep_folder"] * 25), "/".join(["日本é"] * 60)])
def test_the_real_program_uses_these_names(tail: str) -> None:
    try:
        box = Box()
    except Unavailable as why:
        pytest.skip(str(why))
    with box:
        box.project = box.home / tail
        box.project.mkdir(parents=True)
        assert box.run("-p", "hello").rc == 0
        tree = Tree(box.home / ".claude")
        assert [found.name for found in tree.projects()] == [slug(str(box.project))]
        assert find_project(tree, str(box.project)).path().path == str(box.project)


def make_sessions(root: Path, count: int) -> Project:
    """Return a project of sessions and an agent beside them, as old versions wrote it; nothing changed in it lately."""
    folder = root / f"projects/-{count}"
    for number in range(count):
        put(folder / f"{number:08x}-aaaa-4bbb-8ccc-000000000001.jsonl", user())
    put(folder / "agent-a1.jsonl", user(sessionId=ONE))
    put(folder / "subagents/agent-a2.jsonl", user(sessionId=ONE))
    for each in (folder, folder / "subagents"):
        os.utime(each, (10**9, 10**9))
    return Project(folder)


def test_the_agents_of_many_sessions_are_found_without_listing_their_project_for_each(tmp_path: Path) -> None:
    def prepare(size: int) -> Callable[[], object]:
        project = make_sessions(tmp_path, size)
        return lambda: [session.agents() for session in project.sessions()]

    assert_linear(prepare, 50)


@pytest.mark.parametrize("age", [0, 10**9])
def test_an_agent_is_found_as_soon_as_it_is_there(tmp_path: Path, age: int) -> None:
    session = next(file for file in make_sessions(tmp_path, 2).sessions() if file.id.startswith("00000001"))
    for number, folder in enumerate((session.project_folder, session.project_folder / "subagents")):
        if age:
            os.utime(folder, (age, age))
        assert len(session.agents()) == number
        agent = put(folder / "agent-new.jsonl", user(sessionId=session.id))
        assert agent in [found.path for found in session.agents()]
    (session.project_folder / "agent-new.jsonl").unlink()
    assert len(session.agents()) == 1
