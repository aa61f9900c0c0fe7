"""The Messages API: client, stream reader, linter and mock server. It knows nothing of session files.

Modules:
    batch            Send many requests concurrently; each one ends as a reply or as an error.
    bedrock          Amazon Bedrock: signed requests, model ids in the address, and streams in AWS's binary framing.
    client           Send requests to the Messages API, with retries, as a stream of events or as a complete reply.
    cloud            The interface of cloud platforms: how their requests are built, their streams read and their
                     errors explained.
    cloud_models     Names of models on Amazon Bedrock and Google Vertex, where older ones have a date (seen in
                     Claude Code 2.1.325).
    endpoint         Describe the server to send requests to: address, credentials, and what the server supports.
    helper_auth      Authenticate requests with the key of a helper program.
    http_answers     Decode the answers of servers, and classify those that cannot be used.
    key_helper       Get the API key from a program of the user (`apiKeyHelper`), and again when it is old or
                     refused.
    lint             Check requests against the rules of the Messages API before they are sent.
    lint_blocks      Check content blocks against the rules of the Messages API.
    mock/            A scripted Messages API for tests and demonstrations.
    open_turn        Join messages as the API reads them, and check whether a continued turn begins with thinking.
    reasoning        The fields of a request that control thinking and effort, as Claude Code sends them for each
                     model.
    request_body     Build the body of a Messages API request for one kind of server.
    retry            Classify failures of the API: what they mean, whether to retry, and how long to wait.
    sse              Parse server-sent events from bytes that arrive in pieces of any size.
    stream_assembly  Assemble a reply from the events of a stream.
    token_estimate   Estimate the tokens of text: four characters per token.
    transport        HTTP/1.1 transport for httpx, directly on asyncio streams.
    vertex           Google Vertex: requests with a token of Google Cloud to addresses with project, region and
                     model.
"""
