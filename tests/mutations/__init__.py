"""Mutations: each makes clew violate a requirement at run time, so that a test of that requirement has to fail.

A requirement of `tests/requirements.tsv` is proven if its marked tests pass, and if at least one of them fails under each
mutation of it. A mutation is a function in the module of its area:

    @violates("R004", "every .jsonl in a project is a session")
    def any_name_is_a_session(patch: Patch) -> None:
        patch.set(place, "_is_id", bool)

    @violates("R005", "nested agents are not found")
    def nested_agents_are_missed(patch: Patch) -> None:
        @patch.wrap(place._agents)
        def wrong(original, folder, project, layout):
            return iter(()) if layout == "nested" else original(folder, project, layout)

It refers to objects of clew and not to pieces of source, so that mypy sees a rename. It violates the sentence of the
requirement: it does not raise, and it breaks nothing else.

- `patch.wrap(f)` replaces a function: `wrong(original, *args, **kwargs)` runs instead of it, whoever imported it under
  whatever name. `f` may be a function, a method (`Class.method`), a property or cached property (`Class.name`), a class
  method, a coroutine, a generator, or a decorated function (then its inner one is replaced).
- `patch.set(owner, "NAME", value)` changes a constant of a module or class, also in modules of clew that imported it.
- `patch.item(table, key, value)` and `patch.remove(table, key)` change a dictionary.
- Values of clew are frozen: `msgspec.structs.replace(value, field=…)`.
- `@violates` can stand on a function more than once, for several numbers.

The same change is made in the Python processes that a test starts, also in isolated ones.

    python -m tests.mutations layout --new       # search the marked tests for one that fails, and record it
    python -m tests.mutations R004 R005          # the recorded tests of some numbers
    python -m tests.mutations layout --search    # search again, for all mutations of an area
    python -m tests.mutations layout --control   # the recorded tests pass without a mutation

A search prints `killed` and records the test in `tests/mutations.tsv`; `survived` (the marked tests pass: they have to be
improved); `not reached` (no marked test ran the changed code: another place is to be changed, or the tests do not use the
feature); `crashed` (the mutation itself is wrong); or `no test` (none is marked). Tests that need Claude Code are left out
unless `--oracle` is given; those that are marked `shared` or `soak` always. `--verbose` prints what pytest printed.

`tests/test_mutations.py` applies all mutations in each run, and runs the recorded tests of a few; `make soak` runs all.
"""

from tests.mutations.patch import Patch
from tests.mutations.registry import violates

__all__ = ["Patch", "violates"]
