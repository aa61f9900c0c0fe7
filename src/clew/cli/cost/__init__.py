"""Commands about token usage and cost.

Modules:
    statusline           `clew statusline`: print one line for the status line of Claude Code, which passes its
                         state on stdin.
    statusline_expiring  Look up for the status line which sessions Claude Code deletes soon; the status line does
                         this once an hour.
    statusline_install   `clew statusline --install` and `--uninstall`: show the change of the settings, ask, and
                         make it.
    usage                `clew usage`: token usage and cost.
    usage_limits         `clew usage limits`: the limits of the subscription, as the status line saw them last.
    usage_plot           `clew usage --plot`: draw it, in the terminal or into a file.
    usage_request        Options of `clew usage`, and the collecting and printing that its views share.
    usage_views          The views of `clew usage`: blocks, context, turns, waste, and a comparison with what Claude
                         Code counted itself.
"""
