"""The tools of the client: each a value with a name, a schema and one function; `clew.chat.tools.toolbox` puts them together."""
