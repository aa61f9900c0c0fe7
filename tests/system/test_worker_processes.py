"""Worker processes: equal answers with any number of them, and what is left when one of the processes ends.

Workers are new processes that cannot import tests, so the tasks are texts of functions: `prepare` is `eval`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clew.system.subprocesses import MAIN
from clew.system.usable_cores import _cgroup_quotas, count_usable_cores
from clew.system.worker_processes import (
    BATCH_BYTES,
    WorkerKilled,
    _read_message,
    _split,
    _write_message,
    map_in_workers,
)

SQUARE = "lambda n: n * n"
LARGE = BATCH_BYTES  # each item becomes a batch


def run(task: str, items: list[int], jobs: int, size: int = LARGE) -> list[object]:
    return list(map_in_workers(eval, task, items, [size] * len(items), jobs=jobs, min_bytes=0))


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_answer_does_not_depend_on_the_number_of_workers(jobs: int) -> None:
    items = list(range(200))
    sizes = [(number * 7919) % (2 * LARGE) for number in items]
    got = map_in_workers(eval, SQUARE, items, sizes, jobs=jobs, min_bytes=0)
    assert list(got) == [number * number for number in items]


def test_several_workers_work_and_none_is_left() -> None:
    pids = set(run("lambda n: __import__('os').getpid()", list(range(40)), 3))
    assert len(pids) > 1 and os.getpid() not in pids
    assert not any(is_running(int(str(pid))) for pid in pids)


def test_little_work_and_one_job_stay_in_this_process() -> None:
    me = "lambda n: __import__('os').getpid()"
    assert set(run(me, [1, 2], 1)) == {os.getpid()}
    assert set(map_in_workers(eval, me, [1, 2], [LARGE, LARGE], jobs=2)) == {os.getpid()}
    assert list(map_in_workers(eval, me, [], [], jobs=2, min_bytes=0)) == []


def test_workers_have_a_low_priority() -> None:
    assert set(run("lambda n: __import__('os').nice(0)", [1, 2], 2)) == {os.nice(0) + 5}


def test_a_worker_postpones_what_libraries_import_as_a_command_does() -> None:
    """Its reading thread starts only after the modules of its task are loaded, because stand-ins need a single thread."""
    command = [sys.executable, "-X", "importtime", "-I", MAIN, "--worker"]
    messages = [("clew.report.reply_rows", "prepare_reading", None), []]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as worker:
        assert worker.stdin and worker.stdout and worker.stderr
        for message in messages:
            _write_message(worker.stdin, message)
        assert _read_message(worker.stdout) == []
        worker.stdin.close()
        loaded = {line.rpartition("|")[2].strip() for line in worker.stderr.read().decode().splitlines()}
    assert "clew.wire.entry" in loaded
    assert loaded.isdisjoint({"re", "uuid", "decimal", "textwrap", "msgspec.toml", "selectors"})


def test_what_a_task_prints_does_not_get_between_the_answers() -> None:
    assert run("lambda n: __import__('os').write(1, b'x' * n)", [5, 6], 2) == [5, 6]


def test_results_larger_than_a_pipe_arrive() -> None:
    assert run("lambda n: b'x' * n", [3 << 20, 1, 2 << 20], 2) == [b"x" * (3 << 20), b"x", b"x" * (2 << 20)]


def test_an_exception_of_a_worker_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        run("lambda n: 1 // n", [1, 2, 0, 3, 4], 2)


def test_a_batch_on_which_a_worker_fails_is_done_here() -> None:
    """A worker that lacks something ends with an error; the answer is complete all the same."""
    here = os.getpid()
    task = f"lambda n: n if n % 2 or __import__('os').getpid() == {here} else 1 // 0"
    assert run(task, list(range(9)), 2) == list(range(9))


def test_a_killed_worker_is_one_clear_error() -> None:
    with pytest.raises(WorkerKilled, match="signal 9") as raised:
        run("lambda n: n == 3 and __import__('signal').raise_signal(9) or n", list(range(9)), 2)
    assert "--jobs 1" in raised.value.hint


def test_a_worker_killed_while_it_waits_is_noticed() -> None:
    items = list(range(300))
    results = map_in_workers(eval, "lambda n: __import__('os').getpid()", items, [LARGE] * 300, jobs=2, min_bytes=0)
    worker = int(str(next(results)))
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(WorkerKilled):
        list(results)


def test_an_iteration_that_is_left_ends_the_workers() -> None:
    task = "lambda n: __import__('os').getpid() if n < 4 else __import__('time').sleep(600)"
    results = map_in_workers(eval, task, [1, 2, 3, 4, 5], [LARGE] * 5, jobs=2, min_bytes=0)
    pids = {int(str(next(results))) for _ in range(3)}
    results.close()
    assert not any(map(is_running, pids))


def start_parent(tmp_path: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a process whose two workers wait for ten minutes; return it and their ids."""
    code = f"""
        import sys
        from clew.system.worker_processes import map_in_workers
        task = "lambda n: __import__('time').sleep(600) if n > 1 else __import__('os').getpid()"
        try:
            items = [0, 1, 2, 3]
            for pid in map_in_workers(eval, task, items, [{LARGE}] * 4, jobs=2, min_bytes=0):
                print(pid, flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.exit(130)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    )
    assert process.stdout
    return process, [int(process.stdout.readline()) for _ in range(2)]


def test_ctrl_c_ends_all_processes_without_a_traceback(tmp_path: Path) -> None:
    parent, workers = start_parent(tmp_path)
    os.killpg(parent.pid, signal.SIGINT)
    out, err = parent.communicate(timeout=20)
    assert (out, err, parent.returncode) == ("interrupted\n", "", 130)
    assert not any(map(is_running, workers))


def test_a_killed_parent_leaves_no_process(tmp_path: Path) -> None:
    parent, workers = start_parent(tmp_path)
    ends = [os.pidfd_open(worker) for worker in workers] if hasattr(os, "pidfd_open") else []
    parent.kill()
    parent.communicate(timeout=20)
    assert ends
    import select

    for end in ends:
        assert select.select([end], [], [], 20)[0], "a worker is still running"
        os.close(end)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_batches_have_all_items_in_order() -> None:
    sizes = [1, LARGE, 2, 3, LARGE * 3, *[1] * 1200]
    batches = _split(sizes)
    assert [batch.first for batch in batches] == [0, *(batch.stop for batch in batches[:-1])]
    assert batches[-1].stop == len(sizes)
    assert sum(batch.size for batch in batches) == sum(sizes)


def test_cores_are_those_that_may_be_used() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system has no affinity")
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert count_usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("membership", "name", "content", "cores"),
    [
        ("0::/a/b\n", "a/b/cpu.max", "150000 100000\n", [2]),
        ("0::/a/b\n", "a/cpu.max", "100000 100000\n", [1]),
        ("0::/\n", "cpu.max", "max 100000\n", []),
        ("4:cpu,cpuacct:/docker\n0::/\n", "cpu/docker/cpu.cfs_quota_us", "400000\n", [4]),
        ("4:memory:/docker\n", "cpu/docker/cpu.cfs_quota_us", "400000\n", []),
        ("", "cpu.max", "100000 100000\n", []),
    ],
)
def test_a_quota_of_a_cgroup_limits_the_cores(
    tmp_path: Path, membership: str, name: str, content: str, cores: list[int]
) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    if name.endswith("quota_us"):
        file.with_name("cpu.cfs_period_us").write_text("100000\n")
    assert _cgroup_quotas(membership, str(tmp_path)) == cores
