"""Commands of the archive and the stores.

Modules:
    collect               `clew collect`: archive every session, and send them to a store.
    collect_backup        `clew collect backup` and `restore-archive`: copy the archive to a file, and put it back.
    collect_compact       `clew collect compact`: compact the files of a lake.
    collect_config        `clew collect init` and `test`: write a commented configuration, and try each sink of it.
    collect_delivery      Deliver what was archived to the sinks of the command line or of the configuration, in
                          turns.
    collect_direct        `clew collect --no-archive`: send new lines directly to a sink.
    collect_erase         `clew collect erase`: erase a session, a project or a text from the archive, or from
                          stores.
    collect_erase_store   `clew collect erase … --to STORE`: erase a person, a project, a session or a text from
                          PostgreSQL or a lake.
    collect_forget_store  `clew collect forget-store`: delete what was fetched from a store to be read here.
    collect_ingest        `clew collect ingest`: commit the objects of a landing zone to a store.
    collect_install       `clew collect install` and `uninstall`: show the changes, ask, and apply them.
    collect_rejected      `clew collect rejected`: list the records that a sink cannot take (with --json
                          completely), and send them again with --retry.
    collect_resend        `clew collect resend`: send everything in the archive again.
    collect_retain        `clew collect retain`: drop what is older than the retention of the archive, of PostgreSQL
                          or of a lake.
    collect_setup         `clew collect setup`: create the tables and roles of a store.
    collect_status        `clew collect status`: show the state of the archive.
    collect_verify        `clew collect verify`: verify every line of the archive.
    delete                `clew delete`: delete sessions that the archive has.
    deletion              Show which sessions would be deleted and what that frees, ask, delete them, and print the
                          result.
    prune                 `clew prune`: delete archived sessions that are old, large or empty.
    restore               `clew restore`: restore a session from the archive or a store, byte for byte.
    restore_from_store    `clew restore --store`: bring a session of a store to this machine, so that Claude Code
                          can resume it.
    sql                   `clew sql`: query the archive or a store with SQL.
    sync                  `clew sync`: make this folder of Claude Code and another one equal, by union in both
                          directions.
    sync_ssh              Synchronise with another machine: run `clew` there over ssh, and exchange packs through
                          its stdin and stdout.
"""
