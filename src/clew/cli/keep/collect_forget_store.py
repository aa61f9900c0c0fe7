"""`clew collect forget-store`: delete what was fetched from a store to be read here."""

from __future__ import annotations

import shutil
from argparse import Namespace

from clew.cli.output import clean_name, format_size, print_json
from clew.errors import NotFound
from clew.system.environment import cache_home


def forget_store(options: Namespace) -> int:
    """Delete the mirrors of a store, or of all, with their search index and usage. The store stays as it is."""
    from clew.collect.config import load_config
    from clew.collect.mirror.mirror_update import TREE
    from clew.collect.mirror.open_reader import open_reader
    from clew.collect.mirror.store_tree import list_mirrors, remove_mirror
    from clew.index.index_schema import index_folder
    from clew.report.usage_summary import cache_folder

    wanted = ""
    if options.target:
        sinks = load_config(options.config).sinks
        address = next((sink.to for sink in sinks if sink.name == options.target), options.target)
        reader = open_reader(address)
        wanted = reader.name
        reader.close()
    mirrors = [(folder, store) for folder, store in list_mirrors() if not wanted or store == wanted]
    if not mirrors:
        raise NotFound(options.target or "stores", "fetched store", hint="Nothing of it is kept here.")
    for folder, store in mirrors:
        root = str(folder / TREE)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        for cache in (index_folder(root, cache_home()), cache_folder(root, cache_home())):
            shutil.rmtree(cache, ignore_errors=True)
        remove_mirror(folder)
        if options.json:
            print_json([{"kind": "forgotten", "store": store, "bytes": size}])
        else:
            print(clean_name(f"{store}: {format_size(size)} deleted here"))
    return 0
