"""Every control request, sent to the published Claude Code and to clew: both answer, in the same form."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.conftest import Claude
from tests.oracle.control_cases import collect_answers, shape

pytestmark = pytest.mark.oracle

AGENT = str(Path(sys.executable).with_name("clew-agent"))
# Keys of the real answers that clew does not have.
LEFT_OUT = frozenset(
    {
        # features of the vendor's own product
        *(
            "ultracodeRequested",
            "ultracodeAvailable",
            "ultrathinkAvailable",
            "feedback_mode",
            "ide_rc_auto_enable_gate",
        ),
        *("remote_control_available", "remote_control_auto_enable", "remote_control_auto_connect_default"),
        *("remote_control_auto_on_by_default", "other_hook_ask_outranks_host", "analytics_disabled"),
        *("outsideFileToolReadsBlocked", "outsideFileToolWritesBlocked", "outsideBlocksCountLaunchFoldersOnly"),
        *("launchEnvLeftOwnFilesInPlace", "fast_mode_disabled_reason", "pending_user_dialog_requests", "buildTime"),
        # texts and counts for its own screens
        *("eventCatalog", "policy", "user_output_styles_dir", "autocompactSource", "mcpInstructions", "slashCommands"),
        *("attachmentTokens", "attachmentsByType", "redirectedContextTokens", "unattributedTokens", "toolCallsByType"),
        *("includedSkills", "skillFrontmatter", "totalSkills", "total_lines_added", "total_lines_removed"),
        "plugins",  # the real program lists plugins that it brings along
        "_meta",  # added by its MCP library
    }
)
SKILLS_OF_CONTEXT = ".response.skills"  # of get_context_usage; clew counts them with the memory files


def test_both_programs_answer_every_control_request_alike(claude: Claude, tmp_path: Path) -> None:
    with claude() as box, ThreadPoolExecutor() as pool:
        theirs = pool.submit(collect_answers, box.command, tmp_path / "real")
        ours = collect_answers([AGENT], tmp_path / "clew")
        real = theirs.result()
    assert list(ours) == list(real)
    kinds = {name: (real[name]["subtype"], ours[name]["subtype"]) for name in real}
    assert {name: pair for name, pair in kinds.items() if pair[0] != pair[1]} == {}
    codes = {name: (real[name].get("error_code"), ours[name].get("error_code")) for name in real}
    assert {name: pair for name, pair in codes.items() if pair[0] != pair[1]} == {}
    missing = {name: keys for name in real if (keys := missing_keys(real[name], ours[name]))}
    assert [key for key in missing.pop("get_context_usage") if key.count(".") == 2] == [SKILLS_OF_CONTEXT]
    assert missing == {}, json.dumps(missing, indent=1)
    print(f"{len(real)} requests answered alike")


def missing_keys(real: Any, ours: Any) -> list[str]:
    """Return the keys of the real answer that ours lacks, to the depth that programs read."""
    return sorted(set(paths(shape(real))) - set(paths(shape(ours))))


def paths(shaped: Any, at: str = "") -> list[str]:
    if isinstance(shaped, list):
        return paths(shaped[0], f"{at}[]")
    if not isinstance(shaped, dict):
        return [at]
    kept = [(f"{at}.{name}", item) for name, item in shaped.items() if name not in LEFT_OUT]
    return [path for name, item in kept for path in (name, *paths(item, name))]
