"""Which session, turn and prompt changed a file, and which wrote each of its lines.

Modules:
    changes_by_file   Sum up changes by file, and compare what they left with the disk.
    disk_content      Read the present content of files that transcripts name.
    git_commits       Ask git which commit wrote each line of a file.
    line_blame        Name the session, turn and prompt that wrote each line of a file.
    recorded_changes  List the file changes that sessions recorded, with the prompt that led to each.
"""
