__version__ = "0.1.0"
JSON_SCHEMA = 1  # version of the JSON output; raised when a field changes its meaning or is removed
