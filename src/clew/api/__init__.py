"""The Messages API: client, stream reader, rules and mock server. It knows nothing of files and sessions."""
