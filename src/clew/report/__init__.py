"""Token usage and cost: buckets, tables, plots.

Modules:
    activity_totals   Count sessions, messages, tool calls and hours in transcripts, and compare them with stats-
                      cache.json.
    charts/           Charts as SVG, of our own: scales, axes, columns, areas, bars, heat maps, and pages with them.
    collect_buckets   Collect the usage buckets of a report: from the summary if it is sufficient, otherwise from
                      the reply store.
    context_history   Measure the context window of a session turn by turn, and estimate its parts.
    cost_by_turn      Cost of each turn, including the agents that it started.
    custom_prices     Prices from a file of the user, which override the table of the package.
    five_hour_blocks  Group usage into windows of five hours, as subscription limits do, with rates and projections.
    growing_summary   Summarize a session that grows at the cost of what was added.
    outline_store     Cache what lists show of session files, so that only changed ones are read again.
    overview          Sum up the usage of all sessions by day: for the start page, whose charts and numbers all come
                      from these sums.
    plots             Choose what the charts of usage show: cost by time or name, activity, context, turns, blocks
                      and waste.
    rate_limits       The limits of a subscription: five hours and a week, as Claude Code passes them to its status
                      line.
    reconcile         Compare our numbers with those that Claude Code recorded, and explain the differences.
    reply_copies      Find the replies that several transcripts have, such as those of forks and of agents, because
                      each counts once.
    reply_rows        Read the replies of transcripts for the reply store: one transcript at a time, in any process.
    reply_store       Cache the replies of every transcript, so that only new lines are read.
    session_cost      The cost of a session, a usage or entries in US dollars: `clew.cost`.
    session_summary   Summarize a session for lists, the start page and charts: what it is about, what it cost, what
                      it did.
    status_format     The format of the status line: text with fields in braces.
    summary_store     Cache the summary of every session, so that only changed ones are read again.
    summary_sums      Add up what a summary needs over the lines of a session, part by part.
    terminal_plots    Plot usage as lines for a terminal.
    text_table        Format usage as text tables with totals and notes.
    timezone          Map instants to hours, days, weeks and months of the local time zone or a named one.
    usage_bucket      Buckets of usage: sums over replies with the same quarter of an hour, model and mode, or over
                      a single reply.
    usage_row         Rows of a usage report: buckets added up by name, with their cost.
    usage_summary     Cache the usage of a tree by quarter of an hour and model in a small file.
    usage_table       Build usage tables: select buckets, group them by name and sort the rows.
    waste             Find tokens that had no use, as far as the files show.
"""
