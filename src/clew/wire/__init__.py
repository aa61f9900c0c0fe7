"""What the files say: the only code that knows the JSON and the folder layout."""
