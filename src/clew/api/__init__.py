"""The Messages API: client, stream reader, linter and mock server. It knows nothing of session files.

Modules:
    batch            Many requests at once: each ends as a reply or as an error, and no failure touches the others.
    client           The client: one request to the Messages API, asked again where that may help, as a stream of
                     happenings or whole.
    endpoint         Endpoints: where the Messages API is, who asks, and what that server is known to take.
    hidden_imports   Unseen: a package that an import is not to find, for libraries that load more than is needed
                     where they find it.
    lint             Rules: what the Messages API refuses, told before it is asked.
    lint_blocks      Rules for blocks: what the parts of a message must look like before the Messages API takes
                     them.
    mock/            A scripted Messages API for tests and demonstrations.
    open_turn        Messages as the API reads them, and whether the turn that a request continues begins with
                     thinking.
    request_body     Requests: what is asked of the Messages API, and its body as one kind of server takes it.
    retry            Failures: what a bad answer means, whether to ask again, and how long to wait before that.
    sse              Server-sent events: from bytes to events, however the bytes are cut.
    stream_assembly  Replies: one response of the API, whole, and put together from the events of a stream.
    token_estimate   Estimates: how many tokens something is, where nobody counted.
    transport        The transport: HTTP/1.1 straight to a server, on the streams of asyncio.
"""
