"""Record conversations, play them back, and compare a second run with the first.

Modules:
    live_tools          Live tools: the calls of a record are made again, and what comes of each is laid beside what
                        came of it then.
    load_recording      Recorded sessions: from the lines of a file to a cassette, in the order in which they were
                        written.
    recording           Cassettes: a recorded session as what is needed to play it again.
    recording_playback  Reels: cassettes while they are played.
    recording_script    Cassettes as scripts: what was recorded, for a mock that any client may ask.
    replay_diff         Likeness: what a replay wrote beside what was recorded, entry by entry.
    replay_run          Replaying: the engine goes through a recorded session again, against the record instead of a
                        model.
    scratch_folder      Scratch folders: copies of a project in which a model may do what it likes.
"""
