"""The protocol of the Claude Agent SDK, over stdin and stdout.

Modules:
    control         The control protocol: the door through which the Agent SDKs drive a session.
    result_json     Outcomes: how a turn ended, in the form that scripts and the SDKs read.
    sdk_frames      Frames: what the engine tells, in the words of the Agent SDKs.
    sdk_init        What an SDK brings along: hooks and tools that live in its process, agents, and words for the
                    system prompt.
    sdk_listing     Listings: what a session offers, as the Agent SDKs ask for it.
    sdk_mirror      The mirror: what is written down is told to the SDK as well, for a store of its own.
    sdk_permission  Consent: how an SDK is asked whether a call may be made, and what its answer means.
    serve_sdk       The door of the Agent SDKs: a session composed of what the person wishes and of what the SDK
                    brings.
"""
