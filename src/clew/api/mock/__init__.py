"""A scripted Messages API for tests and demonstrations.

Modules:
    http_server   HTTP/1.1 for a server on loopback: just enough to be asked by any client, on the streams of
                  asyncio.
    in_process    Inside: a mock that is asked without a socket, in the process of the client itself.
    mock_api      The mock: what a Messages API that follows a script answers to a request, and what it would charge
                  for it.
    prompt_cache  The prompt cache, played: which part of a request was sent before, up to a mark.
    responses     Answers: the message that a step of a script becomes, and the stream that builds it up.
    scripts       Scripts: what the mock server is to say, as JSON or TOML, and which step of it answers a request.
    server        The server: a mock on a port of this machine, with a ledger of what it was asked and what it
                  charged.
"""
