"""The stories of the demo tree.

Modules:
    bakery          Stories of a bakery's order service: a bug fixed, three ways to say when it is open, secrets, a
                    bad day, a fork.
    chess_clock     Stories of a chess-clock app on Windows: a clock that drifts, and a session file that was
                    damaged.
    irrigation      Stories of a garden-irrigation controller in Rust: agents, a workflow, a compaction, a plan, an
                    old session.
    long_session    A long story: every station of the coast is gone through, one after the other, over an
                    afternoon.
    programme       The programme of the demo: which session began when.
    site_generator  Stories of a static-site generator: pictures, two languages more, a title, and one from long
                    ago.
    story           What the stories of the demo share: their sessions, the rhythm of a turn, and a picture to
                    paste.
    tide_gauges     Stories of a data pipeline for tide gauges: output too long to keep, a session that moved, one
                    run from a script.
"""
