"""Record conversations, play them back, and compare a second run with the first.

Modules:
    live_tools          Run the calls of a recording again, and compare each result with the recorded one.
    load_recording      Build a recording from the lines of a session, in the order in which they were written.
    recording           Define a recording: a session in the form that is needed to play it again.
    recording_playback  Play a recording: it answers the mock with replies, tools with results, and hooks with what
                        comes next.
    recording_script    Convert a recording to a script for a mock API that any client can use.
    replay_diff         Compare the entries that a replay wrote with the recorded ones.
    replay_run          Replay a recorded session: the engine runs again with the recording instead of a model.
    scratch_folder      Copy a project to a scratch folder in which a model may do anything.
"""
