"""`clew collect setup`: create the tables and roles of a store."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from clew.cli.output import print_json, print_message
from clew.errors import Refused


def setup(options: Namespace) -> int:
    from clew.collect.sinks.address import POSTGRES

    if not options.to or not all(address.startswith(POSTGRES) for address in options.to):
        raise Refused(["only a database has tables; name it with --to postgresql://…"])
    from clew.collect.sinks.postgres.connection import PostgresConnection
    from clew.collect.sinks.postgres.roles import READER, ROLES, WRITER
    from clew.collect.sinks.postgres.setup import set_up_store, setup_sql

    if options.dry_run:
        print(setup_sql(), end="")
        return 0
    password = Path(options.token_file).expanduser().read_text().strip() if options.token_file else ""
    for address in options.to:
        link = PostgresConnection(address, password)
        try:
            set_up_store(link)
        finally:
            link.close()
        if options.json:
            names = {"writer": WRITER, "reader": READER, "roles": list(ROLES)}
            print_json([{"kind": "setup", "store": link.name, **names}])
        else:
            print(f"{link.name} has the tables of clew")
    if not options.quiet:
        print_message("Give each host a user of its own: CREATE ROLE ada LOGIN PASSWORD '…' IN ROLE clew_writer;")
        print_message("and those who ask: CREATE ROLE rio LOGIN PASSWORD '…' IN ROLE clew_reader;")
        print_message(f"or in one of the narrower roles: {', '.join(ROLES[2:])} (docs/sql.md)")
    return 0
