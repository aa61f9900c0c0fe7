"""Replace parts of clew at run time, in every module that imported them, and put them back."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from itertools import count
from types import CodeType, FunctionType, MethodType
from typing import Any

Wrong = Callable[..., Any]
_NUMBERS = count()


class Patch:
    """What one mutation changes. `undo` restores all of it."""

    def __init__(
        self, reached: Callable[[], None] = lambda: None, crashed: Callable[[BaseException], None] | None = None
    ):
        self._undo: list[Callable[[], None]] = []
        self._reached = reached
        self._crashed = crashed

    def wrap(self, target: object) -> Callable[[Wrong], Wrong]:
        """Replace a function, method, property or cached property: `wrong(original, *args, **kwargs)` runs instead.

        The code of the function object is swapped, so that it does not matter who imported it under which name.
        """
        function = _function(target)

        def decorate(wrong: Wrong) -> Wrong:
            _check_parameters(function, wrong)
            self._swap(function, wrong)
            return wrong

        return decorate

    def set(self, owner: object, name: str, value: Any) -> None:
        """Change a constant of a module or class, also where other modules of clew imported it under the same name."""
        old = getattr(owner, name)
        self._reached()
        for place in [owner, *_importers(owner, name, old)]:
            self._undo.append(functools.partial(setattr, place, name, old))
            setattr(place, name, value)

    def item(self, table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Change an entry of a table, or add one."""
        before = dict(table)
        self._reached()
        table[key] = value
        self._undo.append(lambda: _restore(table, before))

    def remove(self, table: MutableMapping[Any, Any], key: Any) -> None:
        """Remove an entry of a table."""
        before = dict(table)
        self._reached()
        del table[key]
        self._undo.append(lambda: _restore(table, before))

    @property
    def changes(self) -> int:
        return len(self._undo)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _swap(self, function: FunctionType, wrong: Wrong) -> None:
        original = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        original.__kwdefaults__ = function.__kwdefaults__
        name = f"__mutation_{next(_NUMBERS)}__"
        function.__globals__[name] = self._guarded(original, wrong)
        before, attributes = function.__code__, dict(function.__dict__)
        function.__dict__.setdefault("__signature__", inspect.signature(original))
        function.__code__ = _trampoline(before, name)

        def restore() -> None:
            function.__code__ = before
            function.__dict__.clear()
            function.__dict__.update(attributes)
            del function.__globals__[name]

        self._undo.append(restore)

    def _guarded(self, original: FunctionType, wrong: Wrong) -> Wrong:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._reached()
            with self._watched(wrong):
                made = wrong(original, *args, **kwargs)
            return iterate(made) if inspect.isgenerator(made) else made

        def iterate(made: Iterator[Any]) -> Iterator[Any]:
            with self._watched(wrong):
                yield from made

        return call

    @contextmanager
    def _watched(self, wrong: Wrong) -> Iterator[None]:
        """Report an error that is a mistake in the mutation: a test that fails because of it proves nothing."""
        try:
            yield
        except BaseException as error:
            if self._crashed and _is_from(error, wrong):
                self._crashed(error)
            raise


def _function(target: object) -> FunctionType:
    if isinstance(target, property):
        target = target.fget
    elif isinstance(target, functools.cached_property):
        target = target.func
    elif isinstance(target, MethodType | staticmethod | classmethod):
        target = target.__func__
    target = inspect.unwrap(target) if callable(target) else target
    if isinstance(target, type) and isinstance(vars(target).get("__init__"), FunctionType):
        target = vars(target)["__init__"]
    if not isinstance(target, FunctionType):
        raise TypeError(f"{target!r} is not a Python function; wrap what calls it")
    return target


def _check_parameters(function: FunctionType, wrong: Wrong) -> None:
    """Raise TypeError if a call of the function, with all parameters or the required ones, does not fit `wrong`.

    A parameter of `wrong` with a default has to have the name of one of the function.
    """
    every = list(inspect.signature(function).parameters.values())
    required = [parameter for parameter in every if parameter.default is parameter.empty]
    optional = {each.name for each in inspect.signature(wrong).parameters.values() if each.default is not each.empty}
    fits = any(_accepts(wrong, parameters) for parameters in (every, required))
    if not fits or not optional <= {parameter.name for parameter in every}:
        raise TypeError(f"{wrong.__qualname__} does not take the parameters of {function.__qualname__}")


def _accepts(wrong: Wrong, parameters: list[inspect.Parameter]) -> bool:
    by_place = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    by_name = {each.name: None for each in parameters if each.kind is each.KEYWORD_ONLY}
    try:
        inspect.signature(wrong).bind(None, *by_place, **by_name)
    except TypeError:
        return False
    return True


def _trampoline(code: CodeType, name: str) -> CodeType:
    """Code with the free variables and the kind of another, which calls the global `name` with all it is given."""
    free = ", ".join(code.co_freevars)
    is_coroutine = bool(code.co_flags & inspect.CO_COROUTINE)
    source = (
        "def outer():\n"
        + (f"    {' = '.join(code.co_freevars)} = None\n" if free else "")
        + f"    {'async ' if is_coroutine else ''}def inner(*args, **kwargs):\n"
        + (f"        if args is None: return ({free},)\n" if free else "")
        + f"        return {'await ' if is_coroutine else ''}{name}(*args, **kwargs)\n"
        + "    return inner\n"
    )
    space: dict[str, Any] = {}
    exec(compile(source, "<mutation>", "exec"), space)
    made: CodeType = space["outer"]().__code__
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _importers(owner: object, name: str, value: object) -> Iterator[object]:
    for title, module in list(sys.modules.items()):
        if title.partition(".")[0] == "clew" and module is not owner and vars(module).get(name) is value:
            yield module


def _restore(table: MutableMapping[Any, Any], before: dict[Any, Any]) -> None:
    table.clear()
    table.update(before)


def _is_from(error: BaseException, wrong: Wrong) -> bool:
    """Whether a mistake in the mutation itself raised the error, and not the code that it calls."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    mistakes = (AttributeError, IndexError, KeyError, NameError, TypeError)
    return (
        isinstance(error, mistakes)
        and trace is not None
        and trace.tb_frame.f_code.co_filename in (wrong.__code__.co_filename, __file__)  # or it takes other arguments
    )
