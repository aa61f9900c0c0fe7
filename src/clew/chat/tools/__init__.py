"""The tools of the client: each a value with a name, a schema and one function; `clew.chat.toolbox` puts them together."""
