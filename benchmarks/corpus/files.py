"""Projects of the corpus: folders with made-up source files, which the file tools read, search and change."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.corpus.era import Json, folder_name
from benchmarks.corpus.words import Pen

Answer = tuple[Json, object, Json]  # input, content of the tool_result, toolUseResult

HOMES = (
    "/home/mira/code/{}",
    "/Users/oda/work/{}",
    "/srv/build/{}",
    "C:\\dev\\{}",
    "/home/jun/プロジェクト/{}",
)
STYLES = ("py", "ts", "go")
MOST_FILES = 14


@dataclass(slots=True)
class Source:
    """One file; an edit changes its lines."""

    path: str
    short: str
    style: str
    lines: list[str]

    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Project:
    cwd: str
    folder: str
    branch: str
    files: list[Source]

    def fitting(self, room: int) -> list[Source]:
        """The files that may be repeated whole."""
        return [source for source in self.files if 30 * len(source.lines) < room]


def make_project(pen: Pen, number: int) -> Project:
    home = HOMES[number % len(HOMES)] if number < 20 else HOMES[number % 3]
    name = f"{pen.name()}{pen.pick('-_.')}{pen.name()}"
    cwd = home.format(name)
    branch = pen.pick(("main", "main", "", "HEAD", f"feature/{pen.name()}-{pen.name()}"))
    style = pen.pick(STYLES)
    project = Project(cwd, folder_name(cwd), branch, [])
    for _ in range(pen.between(6, MOST_FILES)):
        _add_file(pen, project, style, pen.code(pen.spread(120, 0.7, 20, 420), style))
    return project


def _add_file(pen: Pen, project: Project, style: str, lines: list[str]) -> Source:
    short = f"{pen.pick(('src', 'lib', 'tests', 'internal'))}/{pen.name()}/{pen.identifier()}.{style}"
    slash = "\\" if "\\" in project.cwd else "/"
    source = Source(project.cwd + slash + short.replace("/", slash), short, style, lines)
    if len(project.files) >= MOST_FILES:
        project.files[pen.below(MOST_FILES)] = source
    else:
        project.files.append(source)
    return source


def read_file(pen: Pen, project: Project, *, arrow: bool, room: int) -> Answer:
    """A file or part of it, with line numbers; now and then a picture."""
    source = pen.pick(project.files)
    if pen.chance(0.006) and room > 40_000:
        return _read_image(pen, project)
    start, count = 0, len(source.lines)
    given: Json = {"file_path": source.path}
    if pen.chance(0.37) or count * 90 > room:
        start = pen.below(max(1, count - 30))
        count = min(pen.between(10, 80), max(5, room // 90))
        given |= {"offset": start + 1, "limit": count}
    lines = source.lines[start : start + count]
    form = "{:6d}→{}" if arrow else "{}\t{}"
    content = "\n".join(form.format(number, line) for number, line in enumerate(lines, start + 1))
    file: Json = {
        "filePath": source.path,
        "content": "\n".join(lines),
        "numLines": len(lines),
        "startLine": start + 1,
        "totalLines": len(source.lines),
    }
    return given, content, {"type": "text", "file": file}


def _read_image(pen: Pen, project: Project) -> Answer:
    data = pen.base64(pen.spread(14_000, 0.6, 3000, 60_000))
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    given: Json = {"file_path": f"{project.cwd}/docs/{pen.identifier()}.png"}
    return (
        given,
        [block],
        {"type": "image", "file": {"base64": data, "type": "image/png", "originalSize": len(data)}},
    )


def edit_file(pen: Pen, project: Project, *, snippet: bool, room: int) -> Answer:
    """Some lines replaced; the result holds the patch and the whole file as it was."""
    source = pen.pick(project.fitting(room))
    before = source.text()
    old, new, at = _change(pen, source)
    given: Json = {
        "replace_all": False,
        "file_path": source.path,
        "old_string": "\n".join(old),
        "new_string": "\n".join(new),
    }
    content = f"The file {source.path} was changed."
    if snippet:
        shown = source.lines[max(0, at - 4) : at + len(new) + 4]
        content += "\n" + "\n".join(f"{number:6d}→{line}" for number, line in enumerate(shown, max(0, at - 4) + 1))
    result: Json = {
        "filePath": source.path,
        "oldString": given["old_string"],
        "newString": given["new_string"],
        "originalFile": before,
        "structuredPatch": [_hunk(source, old, new, at)],
        "userModified": False,
        "replaceAll": False,
    }
    return given, content, result


def edit_many(pen: Pen, project: Project, *, room: int) -> Answer:
    source = pen.pick(project.fitting(room))
    before = source.text()
    edits: list[Json] = []
    hunks: list[Json] = []
    for _ in range(pen.between(2, 4)):
        old, new, at = _change(pen, source)
        edits.append({"old_string": "\n".join(old), "new_string": "\n".join(new), "replace_all": False})
        hunks.append(_hunk(source, old, new, at))
    result: Json = {
        "filePath": source.path,
        "edits": edits,
        "originalFileContents": before,
        "structuredPatch": hunks,
        "userModified": False,
    }
    return {"file_path": source.path, "edits": edits}, f"{len(edits)} edits made in {source.path}", result


def write_file(pen: Pen, project: Project, *, room: int) -> Answer:
    """A new file, or an old one written anew."""
    style = project.files[0].style
    lines = pen.code(pen.spread(60, 0.8, 8, max(8, min(400, room // 120))), style)
    if pen.chance(0.25):
        source = pen.pick(project.fitting(room))
        before, source.lines = source.text(), lines
        patch: list[Json] = [_hunk(source, before.split("\n")[:12], lines[:12], 0)]
        kind, content = "update", f"The file {source.path} was written anew."
        original: str | None = before
    else:
        source = _add_file(pen, project, style, lines)
        patch, original, kind, content = [], None, "create", f"New file written: {source.path}"
    text = source.text()
    result: Json = {
        "type": kind,
        "filePath": source.path,
        "content": text,
        "structuredPatch": patch,
        "originalFile": original,
    }
    return {"file_path": source.path, "content": text}, content, result


def search_files(pen: Pen, project: Project, *, room: int) -> Answer:
    sources = [pen.pick(project.files) for _ in range(pen.between(1, 6))]
    pattern = pen.identifier()
    if pen.chance(0.3):
        names = sorted({source.short for source in sources})
        given: Json = {"pattern": pattern, "path": project.cwd, "output_mode": "files_with_matches"}
        content = f"Found {len(names)} files\n" + "\n".join(names)
        return given, content, {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
    hits: list[str] = []
    for source in sources:
        start = pen.below(len(source.lines))
        shown = source.lines[start : start + pen.between(1, 9)]
        hits += [f"{source.short}:{number}:{line}" for number, line in enumerate(shown, start + 1)]
    given = {"pattern": pattern, "path": project.cwd, "output_mode": "content", "-n": True}
    hits = hits[: max(2, room // 150)]
    text = "\n".join(hits)
    result: Json = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": len(hits)}
    return given, text, result


def find_files(pen: Pen, project: Project) -> Answer:
    names = [source.path for source in project.files if pen.chance(0.7)]
    pattern = f"**/*{pen.name()[:4]}*.{project.files[0].style}"
    result: Json = {
        "filenames": names,
        "durationMs": pen.between(2, 900),
        "numFiles": len(names),
        "truncated": False,
    }
    return {"pattern": pattern, "path": project.cwd}, "\n".join(names) or "No files found", result


def _change(pen: Pen, source: Source) -> tuple[list[str], list[str], int]:
    at = pen.below(max(1, len(source.lines) - 8))
    old = source.lines[at : at + pen.between(1, 7)]
    new = pen.code(pen.between(1, 8) if len(source.lines) < 400 else 1, source.style)
    source.lines[at : at + len(old)] = new
    return old, new, at


def _hunk(source: Source, old: list[str], new: list[str], at: int) -> Json:
    """The patch of a change that has been made: three lines around it."""
    before = source.lines[max(0, at - 3) : at]
    after = source.lines[at + len(new) : at + len(new) + 3]
    around = len(before) + len(after)
    lines = [" " + line for line in before]
    lines += ["-" + line for line in old] + ["+" + line for line in new]
    return {
        "oldStart": max(0, at - 3) + 1,
        "oldLines": len(old) + around,
        "newStart": max(0, at - 3) + 1,
        "newLines": len(new) + around,
        "lines": lines + [" " + line for line in after],
    }
