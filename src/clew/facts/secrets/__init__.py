"""Find and mask secrets.

Modules:
    mask_secrets    Find and mask secrets in text and in decoded JSON: the one engine behind every way out.
    secret_formats  Secrets by format: with a prefix or a scheme that is known, plain or one level deep in base64.
    secret_names    Secrets by name: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, in running text.
    secret_rules    What a secret looks like: the table of known formats, the telling key names, and the innocent
                    values.
"""
