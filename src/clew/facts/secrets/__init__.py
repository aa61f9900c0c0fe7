"""Find and mask secrets.

Modules:
    mask_secrets    Find and mask secrets in text and in decoded JSON, for every output of clew.
    secret_formats  Find secrets by format: a known prefix or scheme, plain, percent-encoded or base64-encoded once.
    secret_names    Find secrets by the name they are assigned to: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`.
    secret_rules    Tables of secret formats, secret names and harmless values.
"""
