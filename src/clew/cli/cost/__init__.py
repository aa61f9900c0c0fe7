"""Commands about token usage and cost.

Modules:
    statusline      `clew statusline`: one line for the status line of Claude Code, which tells what it knows on
                    stdin.
    usage           `clew usage`: what it took and what it cost.
    usage_archived  What the archive keeps of transcripts that are gone from the tree or were written anew: usage
                    never shrinks by that.
    usage_plot      `clew usage --plot`: draw it, in the terminal or into a file.
    usage_views     The views of `clew usage`: blocks, context, turns, waste, and a comparison with what Claude Code
                    counted itself.
"""
