"""Cases in which clew is known to be wrong, each with the reason: the tests expect exactly these to fail."""

from __future__ import annotations

from tests.oracle.claude import VERSIONS

# What the newest version does, and clew does not do yet
RULES: dict[str, tuple[str, ...]] = {
    "A path without a message: the last message of the file is the leaf": (
        "leaf/one_note_of_the_program",
        "leaf/one_attachment",
        "closing/boundary",
        "leaf/note_without_a_parent_at_the_end",
        "leaf/attachment_without_a_parent_at_the_end",
    ),
    "A time that is a number is read as a year": (
        "leaf/leaf_whose_time_is_a_number",
        "leaf/prompt_at_the_end_whose_time_is_a_number",
    ),
    "A line below itself has a missing parent": ("leaf/line_below_itself",),
    "A progress line stands for its parent from where it is in the file, and before any other line of its uuid": (
        "leaf/reply_and_progress_share_a_uuid",
        "bridging/progress_line_later_in_the_file",
    ),
    "A worktree that is gone is no reason to refuse": ("leaf/worktree_that_is_gone",),
    "A missing parent of an agent's line is not replaced": ("bridging/missing_parent_of_an_agent_line_in_the_chain",),
    "A parent that is no string is a missing one, an empty string is none": (
        "bridging/parent_is_a_number",
        "bridging/parent_is_an_empty_word",
    ),
    "The first of two lines with one uuid says what stands before it": (
        "bridging/missing_parent_of_a_line_that_comes_twice",
    ),
    "A block aside goes behind the last block before it in the file": (
        "siblings/block_aside_before_the_one_on_the_path",
        "siblings/block_aside_between_those_on_the_path",
        "siblings/blocks_aside_around_those_on_the_path",
    ),
    "Lines that name no reply and no request are no reply together": (
        "siblings/replies_without_an_id_are_not_one",
        "thinking/replies_without_an_id",
    ),
    "What a compaction that preserves something did not preserve is gone, also for siblings": (
        "compaction/segment_with_parallel_calls",
        "compaction/messages_with_half_of_the_parallel_calls",
        "compaction/lost_result_in_what_was_preserved",
        "siblings/call_before_a_compaction_that_preserved_another",
    ),
    "A segment is not bridged, and of messages all must be there": (
        "compaction/segment_over_a_missing_line",
        "compaction/messages_of_which_some_are_not_there",
    ),
    "Attachments between lines of one reply go behind it": (
        "merging/same_reply_behind_a_rendered_attachment",
        "queued/in_full_between_lines_of_one_reply",
        "queued/words_between_parallel_calls",
    ),
    "White space alone is no text in a list": (
        "merging/blank_text_beside_a_prompt",
        "blocks/blank_texts_as_a_prompt",
        "blocks/blank_text_beside_an_image",
        "blocks/blank_prompts_around_a_prompt",
        "blocks/blank_text_beside_a_result",
        "blocks/thoughts_and_a_blank_text",
    ),
    "Thoughts and white space are no reply": ("thinking/foreign_thoughts_between_prompts",),
    "A server's tool without its answer in the same reply is dropped": (
        "merging/server_tool_without_its_result",
        "blocks/server_tool_answered_by_another_reply",
        "blocks/server_tool_alone",
        "blocks/server_tool_of_mcp",
    ),
    "Virtual lines are not sent": (
        "merging/virtual_lines",
        "blocks/virtual_prompt_at_the_end",
        "blocks/virtual_result",
    ),
    "The model is that of the last reply that is sent": (
        "results/interrupted_call",
        "results/lost_result_at_the_end_behind_a_meta_prompt",
        "thinking/model_of_a_reply_that_is_not_sent",
        "thinking/model_of_a_blank_reply",
    ),
    "A stray result that is all of the first message has words of its own": (
        "results/result_without_a_call_at_the_beginning",
    ),
    "A result before its call goes behind it": ("results/result_before_its_call",),
    "An error that holds more than texts is left with its texts, as one": (
        "results/image_in_an_error",
        "blocks/image_as_an_error",
        "blocks/image_between_texts_in_an_error",
    ),
    "A loaded tool is announced, and its result takes no context": (
        "results/tool_reference_in_a_result",
        "blocks/tool_reference_beside_another_result",
        "blocks/tool_reference_at_the_end",
        "blocks/tool_reference_beside_a_text",
        "blocks/context_behind_a_tool_reference",
    ),
    "Context and result are stripped, empty ones left out; a result of null takes none": (
        "attachments/behind_a_result_that_is_empty",
        "blocks/context_behind_a_result_with_white_space",
        "blocks/context_behind_a_result_of_nothing",
        "blocks/context_behind_a_result_without_content",
    ),
    "A rendered part is one message; one that is no text makes the whole attachment void": (
        "attachments/list_of_two_as_what_was_rendered",
        "attachments/image_rendered",
        "attachments/image_rendered_behind_a_result",
        "attachments/no_attachment_in_an_attachment",
        "blocks/context_of_which_a_part_is_an_image",
        "blocks/context_that_is_a_number",
    ),
    "Attached files keep a text of their own only for models with system turns": (
        "attachments/file_in_words_behind_a_result",
        "attachments/words_behind_a_file_behind_a_result",
        "attachments/file_behind_words_behind_a_result",
    ),
    "Context comes before what was queued": (
        "queued/in_full_then_words",
        "queued/in_full_behind_a_prompt_then_words",
    ),
    "Any attachment behind a result that ends the turn shows that it did": (
        "closing/end_of_the_turn_an_attachment_and_a_note",
    ),
    "A command behind its caveat is no unfinished turn": (
        "closing/command_behind_its_caveat",
        "closing/command_behind_a_prompt_and_its_caveat",
        "closing/caveat_alone",
        "closing/command_lines_behind_a_caveat",
    ),
    "Only the first line may have a byte order mark": ("damage/byte_order_mark_in_the_middle",),
    "A raw control character makes a line unreadable": ("damage/raw_tab_in_a_text",),
    "Half a surrogate pair is sent as U+FFFD": ("damage/lone_surrogates",),
    "Blocks without a type and texts that are no strings are dropped": (
        "damage/block_of_no_type",
        "damage/text_that_is_a_number",
        "blocks/broken_blocks_in_a_reply",
    ),
    "Anything but nothing makes a line an agent's": ("damage/sidechain_that_is_nothing",),
}

# What clew will not do
LASTING: dict[str, str] = {
    "queued/with_an_image": "what holds an image is rendered anew, in the program's own words",
    "queued/with_an_image_in_a_human_turn": "what holds an image is rendered anew, in the program's own words",
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
