"""Run a function over many items in several processes, one for each core.

    for path, answer in zip(paths, map_in_workers(prepare, settings, paths, sizes, jobs=options.jobs)):
        …

`prepare(settings)` runs once in each worker and returns the function that is called for each item; state that lasts (an
open database, a cache) lives in its closure. It must be a function of a module, because workers are new processes, which
import it. Settings, items and results cross a pipe with `marshal`, so they must be plain values: None, numbers, texts,
bytes, and lists, tuples and dicts of them (no named tuples). Return few and small values: moving texts through a pipe takes
longer than reading them again. Paths must be absolute, because workers run in a neutral folder.

Results have the order of the items, so an answer never depends on the number of workers. Items are sent in batches, in
order, but of the next `WINDOW` batches large ones first, so that no worker ends with a large file while the others wait.
Little work stays in this process: see `min_bytes`.

How it ends:
- Ctrl-C, or an iteration that is left: this process ends the workers, which ignore the signal themselves.
- This process is killed: its pipes close, and each worker ends at once, in the middle of an item if need be.
- A worker raises an exception: this process runs the same batch itself, so the exception is raised here.
- A worker is killed: `WorkerKilled` is raised; there is no partial success.
"""

from __future__ import annotations

import marshal
import os
import select
import sys
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from clew.errors import ClewError
from clew.system import environment
from clew.system.subprocesses import clew_process_command, neutral_folder
from clew.system.usable_cores import count_usable_cores

if TYPE_CHECKING:
    from queue import SimpleQueue
    from subprocess import Popen

Settings = TypeVar("Settings")
Item = TypeVar("Item")
ItemByNumber = TypeVar("ItemByNumber", covariant=True)
Result = TypeVar("Result")
Prepare = Callable[[Settings], Callable[[Item], Result]]

ARGUMENT = "--worker"  # starts `clew` as a worker
MIN_BYTES = 48 << 20  # bytes from which several processes pay off, for work that is about as fast as decoding
BATCH_BYTES = 4 << 20  # a batch is sent when its items have this many bytes
LARGE_BATCH = 2 * BATCH_BYTES  # a batch with a file so large is sent before its turn
BATCH_ITEMS = 512  # … or are this many
WINDOW = 48  # batches whose results may wait for those before them
NICENESS = 5
_LENGTH = 8  # bytes before each message: its length


class WorkerKilled(ClewError):
    """A worker process was ended by a signal, so that the answer would be incomplete."""

    def __init__(self, signal: int) -> None:
        super().__init__(
            f"A worker process was ended by signal {signal}, so there is no complete answer.",
            hint="Run the command again; --jobs 1 uses one process and the least memory.",
        )
        self.signal = signal


class Items(Protocol[ItemByNumber]):
    """Items that are asked for by their numbers, one by one: a list, or an object that makes each when it is needed."""

    def __getitem__(self, number: int, /) -> ItemByNumber: ...


class _Batch(NamedTuple):
    """Some consecutive items, and the bytes that they have together."""

    first: int
    stop: int
    size: int

    def select(self, items: Items[Item]) -> list[Item]:
        return [items[number] for number in range(self.first, self.stop)]


def map_in_workers(
    prepare: Prepare[Settings, Item, Result],
    settings: Settings,
    items: Items[Item],
    sizes: Sequence[int],
    *,
    jobs: int | None = None,
    min_bytes: int = MIN_BYTES,
    window: int = WINDOW,
) -> Generator[Result, None, None]:
    """Yield `prepare(settings)(item)` for each item in order, from `jobs` processes (default: one for each usable core).

    `sizes` are the bytes of each item. Below `min_bytes` in total, or with `jobs` 1, all work is done in this process.
    Results of at most `window` batches are held: fewer take less memory, if results are large.
    """
    batches = _split(sizes)
    count = min(count_usable_cores() if jobs is None else jobs, len(batches))
    if count < 2 or sum(sizes) < min_bytes or sys.platform == "win32":  # where `select` does not take pipes
        yield from map(prepare(settings), (items[number] for number in range(len(sizes))))
        return
    with _Workers(prepare, settings, count) as workers:
        for results in workers.run(items, batches, window):
            yield from results


def _split(sizes: Sequence[int]) -> list[_Batch]:
    """Divide the items into batches, in order."""
    batches = []
    first = size = 0
    for number, bytes_of_item in enumerate(sizes, 1):
        size += bytes_of_item
        if size >= BATCH_BYTES or number - first >= BATCH_ITEMS or number == len(sizes):
            batches.append(_Batch(first, number, size))
            first, size = number, 0
    return batches


class _Workers:
    """The worker processes of one pass."""

    def __init__(self, prepare: Prepare[Any, Any, Any], settings: object, count: int) -> None:
        self._prepare, self._settings = prepare, settings
        self._count = count
        self._workers: list[_Worker] = []

    def __enter__(self) -> _Workers:
        task = (self._prepare.__module__, self._prepare.__qualname__, self._settings)
        try:
            self._workers.extend(_start_worker() for _ in range(self._count))
            for worker in self._workers:
                worker.send(task)
        except (OSError, ValueError, KeyboardInterrupt):
            self._end(is_complete=False)
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(is_complete=kind is None)

    def _end(self, is_complete: bool) -> None:
        """End all workers: those that wait end when their pipe closes; in an incomplete pass they are killed."""
        for worker in self._workers:
            worker.end(is_killed=not is_complete)
        for worker in self._workers:
            worker.process.wait()

    def run(self, items: Items[Any], batches: Sequence[_Batch], window: int) -> Iterator[list[Any]]:
        """Yield the results of each batch, in order. A worker gets a batch only when it has answered the one before."""
        done: dict[int, list[Any]] = {}
        waiting: list[int] = []
        position = queued = 0
        weights = [max(LARGE_BATCH, batch.size) for batch in batches]
        idle = self._workers.copy()
        busy: dict[int, tuple[_Worker, int]] = {}  # by the file descriptor of the answer
        while position < len(batches):
            waiting.extend(range(queued, queued := min(len(batches), position + window)))
            while idle and waiting:
                number = max(waiting, key=weights.__getitem__)  # the first of equals
                waiting.remove(number)
                worker = idle.pop()
                worker.send(batches[number].select(items))
                busy[worker.answers.fileno()] = worker, number
            if position in done:
                yield done.pop(position)
                position += 1
                continue
            if not busy:  # every worker has failed
                waiting.remove(position)
                done[position] = self._run_here(items, batches[position])
            for descriptor in _wait_for_answers(busy):
                worker, number = busy.pop(descriptor)
                results = _read_message(worker.answers)
                if results is None:
                    worker.check_end()
                    results = self._run_here(items, batches[number])
                else:
                    idle.append(worker)
                done[number] = results

    def _run_here(self, items: Items[Any], batch: _Batch) -> list[Any]:
        """Run a batch on which a worker failed, so that its exception is raised in this process."""
        return list(map(self._prepare(self._settings), batch.select(items)))


class _Worker(NamedTuple):
    """A worker process, the pipe to it, and the pipe with its answers."""

    process: Popen[bytes]
    questions: IO[bytes]
    answers: IO[bytes]

    def end(self, is_killed: bool) -> None:
        """Close the pipes, so that the worker ends when it has nothing to do; or kill it."""
        if is_killed:
            self.process.kill()
        for pipe in (self.questions, self.answers):
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def send(self, message: Any) -> None:
        """Send a message; a worker that has ended is noticed when its answer is read."""
        try:
            _write_message(self.questions, message)
        except BrokenPipeError:
            return

    def check_end(self) -> None:
        """Raise `WorkerKilled` if the worker was ended by a signal."""
        code = self.process.wait()
        if code < 0:
            raise WorkerKilled(-code)


def _start_worker() -> _Worker:
    from subprocess import DEVNULL, PIPE, Popen

    command = clew_process_command(ARGUMENT)
    variables = environment.isolated_environment()
    process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=neutral_folder(), env=variables)
    if process.stdin is None or process.stdout is None:
        raise OSError("a worker process has no pipes")
    return _Worker(process, process.stdin, process.stdout)


def _wait_for_answers(busy: Collection[int]) -> list[int]:
    """Wait until workers answer or end, and return the descriptors of their pipes."""
    if sys.platform == "win32" or not busy:  # there are no workers on Windows
        return []
    poll = select.poll()
    for descriptor in busy:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll()]


def _write_message(pipe: IO[bytes], message: Any) -> None:
    data = marshal.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def _read_message(pipe: IO[bytes]) -> Any:
    """Return the next message; None at the end, also if it comes within a message."""
    header = pipe.read(_LENGTH)
    if len(header) < _LENGTH:
        return None
    length = int.from_bytes(header, "big")
    data = pipe.read(length)
    return marshal.loads(data) if len(data) == length else None


# -- in a worker


def serve_batches() -> int:
    """Answer batches from stdin until it closes; the entry point of a worker process."""
    import signal
    from importlib import import_module
    from queue import SimpleQueue
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    if sys.platform != "win32":
        os.nice(NICENESS)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may get between the answers
    questions = os.fdopen(os.dup(0), "rb")
    task = _read_message(questions)
    if task is None:
        return 0
    module, name, settings = task
    prepare: Prepare[Any, Any, Any] = getattr(import_module(module), name)  # before the thread: see `PostponingFinder`
    messages: SimpleQueue[Any] = SimpleQueue()
    progress = _Progress(received=1)
    Thread(target=_read_messages, args=(questions, messages, progress), daemon=True).start()
    work = prepare(settings)
    progress.answered += 1
    while (batch := messages.get()) is not None:
        results = list(map(work, batch))
        try:
            _write_message(answers, results)
        except BrokenPipeError:
            break
        progress.answered += 1
    return 0


class _Progress:
    """The messages that a worker received and those it has dealt with; each number is written by one thread only."""

    def __init__(self, received: int) -> None:
        self.received, self.answered = received, 0


def _read_messages(pipe: IO[bytes], messages: SimpleQueue[Any], progress: _Progress) -> None:
    """Pass on the messages of the parent; end this process if the parent is gone while it works."""
    while (message := _read_message(pipe)) is not None:
        progress.received += 1
        messages.put(message)
    if progress.received > progress.answered:
        os._exit(1)
    messages.put(None)
