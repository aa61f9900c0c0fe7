"""Commands of the archive and the stores.

Modules:
    collect          `clew collect`: keep every session for ever.
    collect_compact  `clew collect compact`: tidy up a lake.
    collect_direct   `clew collect --no-archive`: new lines go straight to a sink.
    collect_install  `clew collect install` and `uninstall`: nothing is done before it was shown and agreed to.
    collect_setup    `clew collect setup`: the tables of a store, and the roles that may use them.
    collect_status   `clew collect status`: how the archive is.
    restore          `clew restore`: a session out of the archive, byte for byte.
    sql              `clew sql`: ask the archive, or a store, in SQL.
"""
