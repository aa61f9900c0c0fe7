"""Cases in which clew is known to be wrong, each with the reason: the tests expect exactly these to fail."""

from __future__ import annotations

from tests.oracle.claude import VERSIONS

# What the newest version does, and clew does not do yet
RULES: dict[str, tuple[str, ...]] = {
    "Lines that a compaction preserved are linked anew before anything is bridged": (
        "bridging/nearest_line_was_preserved",
    ),
}

# What clew will not do
LASTING: dict[str, str] = {
    "compaction/message_named_twice": "the program links preserved lines anew, which makes a cycle of one named twice",
    "damage/numbers_that_are_large": "the program has no integers beyond 2**53",
}

# What older versions do differently: reason, case, versions
OLDER: dict[str, dict[str, tuple[str, ...]]] = {
    "an attachment alone is taken for an unfinished turn": {
        "leaf/one_attachment": ("2.1.45",),
        "leaf/attachment_without_a_parent_at_the_end": ("2.1.45",),
    },
    "a stray result in the first message is sent": {
        "bridging/missing_parent_of_a_result": ("2.1.45",),
        "results/result_without_a_call_at_the_beginning": ("2.1.45",),
        "results/result_before_its_call": ("2.1.45",),
    },
    "a string among the blocks is sent as it is": {
        "merging/odd_contents_of_prompts": ("2.1.45",),
        "merging/strings_in_a_reply": ("2.1.45",),
    },
    "a message without proper content ends the program": {
        "merging/prompt_of_nothing": ("2.1.45",),
        "damage/message_that_is_empty": ("2.1.45",),
        "damage/content_that_is_a_number": ("2.1.45",),
        "damage/content_that_is_an_object": ("2.1.45",),
        "damage/nothing_among_the_blocks": ("2.1.45",),
    },
    "tool references need a tool search that is not there": {
        "results/tool_reference_in_a_result": ("2.1.45",),
        "blocks/tool_reference_beside_another_result": ("2.1.45",),
        "blocks/tool_reference_at_the_end": ("2.1.45",),
        "blocks/tool_reference_beside_a_text": ("2.1.45",),
        "blocks/context_behind_a_tool_reference": ("2.1.45",),
    },
    "an attached file is rendered in words of the version's own": {
        "attachments/file_behind_a_result": ("2.1.45",),
        "attachments/file_and_a_reminder_behind_a_result": ("2.1.45",),
        "attachments/file_in_words_behind_a_result": ("2.1.45",),
        "attachments/file_in_words_behind_a_prompt": ("2.1.45",),
        "attachments/words_behind_a_file_behind_a_result": ("2.1.45",),
        "attachments/file_behind_words_behind_a_result": ("2.1.45",),
    },
    "what was queued is rendered in words of the version's own, images with it": {
        "queued/with_an_image": ("2.1.45",),
        "queued/with_an_image_in_a_human_turn": ("2.1.45",),
    },
    "what was queued stands between the lines of the reply": {
        "queued/in_full_between_lines_of_one_reply": ("2.1.45",),
    },
    "a turn that a tool ended counts as unfinished": {
        "closing/end_of_the_turn_and_a_snapshot_of_the_prompt": ("2.1.45",),
        "closing/end_of_the_turn_and_a_date": ("2.1.45",),
        "closing/end_of_the_turn_and_a_rendered_attachment": ("2.1.45",),
    },
    "a line that is JSON but no object hides the line behind it": {
        "damage/words_on_a_line_of_their_own": ("2.1.45",),
    },
    "the program has no integers beyond 2**53": {
        "damage/numbers_that_are_large": ("2.1.45",),
    },
    "anything but nothing makes a line an agent's": {
        "damage/sidechain_that_is_nothing": ("2.1.45",),
    },
}

UNKNOWN = {name: rule for rule, names in RULES.items() for name in names} | LASTING
KNOWN = {
    version: {name: why for why, names in OLDER.items() for name, versions in names.items() if version in versions}
    for version in VERSIONS
}

# Seeds of random sessions about which the two differ: why
RANDOM: dict[int, str] = {
    384: "not understood: a call without a result is kept and answered by an error, which clew drops",
    404: 'not understood: a reply of nothing but a block without words is passed over, clew sends it as "(no content)"',
}
