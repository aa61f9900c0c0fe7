"""A scripted Messages API for tests and demonstrations.

Modules:
    http_server   Minimal HTTP/1.1 server on asyncio streams, for use on loopback.
    in_process    Connect a client to a mock in the same process, without a socket.
    mock_api      Answer Messages API requests from a script, with the usage that the API would charge.
    prompt_cache  Simulate the prompt cache: which prefix of a request was sent before, up to a mark.
    responses     Build the message for a step of a script, and the stream of events for it.
    scripts       Read mock scripts from JSON or TOML, and choose the step that answers a request.
    server        Serve a mock on a local port, with a ledger of its requests and charges.
"""
