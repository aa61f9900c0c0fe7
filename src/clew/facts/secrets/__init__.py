"""Find and mask secrets.

Modules:
    context_rules   Rules for secrets that the text before them identifies: a header, a command, a line of a
                    credentials file.
    mask_secrets    Find and mask secrets in text and in decoded JSON, for every output of clew.
    secret_formats  Find secrets by format: a known prefix or scheme; plain, escaped, split over literals or
                    base64-encoded once.
    secret_names    Find secrets by the name they are assigned to: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`.
    secret_rules    Tables of secret formats, secret names and harmless values.
    secret_words    Find secrets that prose states (`mein Passwort ist …`) or that names in other languages announce
                    (`contraseña: …`).
"""
