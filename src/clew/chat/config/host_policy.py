"""Restrictions that a program around clew sets with `--managed-settings`; what would widen anything is left out."""

from __future__ import annotations

import json

from clew.chat.config.settings import as_object
from clew.errors import ClewError
from clew.wire.json_codec import Json

_KEPT = (
    *("allowManagedHooksOnly", "allowManagedPermissionRulesOnly", "deniedMcpServers", "allowedMcpServers"),
    *("blockedMarketplaces", "availableModels", "sandbox", "disableBypassPermissionsMode"),
)
_KEPT_PERMISSIONS = ("deny", "ask", "disableBypassPermissionsMode")


def read_host_policy(text: str) -> Json:
    """Return the restrictions in a JSON text. Raises ClewError: a policy that cannot be read must not be skipped."""
    try:
        stated = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ClewError(f"--managed-settings is not JSON: {error}.") from None
    if not isinstance(stated, dict):
        raise ClewError("--managed-settings is not a JSON object.")
    kept = {name: value for name, value in stated.items() if name in _KEPT}
    permissions = as_object(stated.get("permissions"))
    rules = {name: permissions[name] for name in _KEPT_PERMISSIONS if name in permissions}
    if rules:
        kept["permissions"] = rules
    if stated.get("disableAllHooks") not in (None, False, "false"):
        kept["allowManagedHooksOnly"] = True  # the hooks of an administrator still run
    return kept
