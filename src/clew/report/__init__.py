"""Token usage and cost: buckets, tables, plots.

Modules:
    activity_totals   Activity: sessions, messages, tool calls and hours, as stats-cache.json totals them, counted
                      from the transcripts.
    collect_buckets   Gathering: the cells that a report needs, from the summary if it will do, else from the store.
    context_history   Context: how the window of a session filled up, turn by turn, and with what.
    cost_by_turn      Turns: what each prompt cost, with all the agents that came of it.
    custom_prices     Prices from a file of the user, which override the table of the package.
    five_hour_blocks  Blocks: windows of five hours, as the limits of subscriptions count them, with how fast they
                      fill.
    plots             Plots: what is drawn of usage, as pictures and as lines for a terminal.
    rate_limits       The limits of a subscription: five hours and a week, as Claude Code passes them to its status
                      line.
    reconcile         Reconciling: our numbers beside those that Claude Code wrote down itself, and why they differ.
    reply_store       The store: the replies of each transcript, as far as it has been read.
    session_cost      The cost of a session, a usage or some entries in US dollars: `clew.cost`.
    status_format     The format of the status line: text with fields in braces.
    svg               Pictures: bars, areas and heat maps as SVG, written by hand; HTML is a page around one.
    text_table        Tables as text, for a terminal: columns of numbers, a sum, and what there is to say of it.
    timezone          Zones: which day, week, month or hour an instant belongs to, where the user is or wherever is
                      asked for.
    usage_bucket      Cells: replies that are alike in what a report asks, added up.
    usage_row         Rows: cells of one name added up and priced.
    usage_summary     The summary: the usage of a tree by quarter of an hour and model, kept in a file of its own.
    usage_table       Tables: the usage of a tree by what is asked, chosen and ordered.
    waste             Waste: tokens that bought nothing, as far as the files tell.
"""
