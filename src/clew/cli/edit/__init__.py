"""Commands that edit: they write a copy, or append to a session.

Modules:
    clone            `clew clone`: a copy of a session: whole, up to a turn, or in another project.
    compact          `clew compact`: copy a session with older turns replaced by a summary, as /compact does.
    compress         `clew compress`: a session whose older replies are shorter.
    drop             `clew drop`: copy a session without some of its turns, or with only some of them.
    edit_output      What every edit shares: the options, and how a plan is shown, written and told of.
    merge            `clew merge`: join the same session, continued on two machines.
    redact           `clew redact`: a copy of a session without its secrets.
    repair           `clew repair`: mend what is broken.
    retitle          `clew retitle`: give a session a title.
    rewind           `clew rewind`: the files of a project, or a conversation, as they were before a prompt.
    size_picture     Sizes: what each part of a conversation takes of the context, before an edit and after it, as a
                     small table.
    summary_options  Who summarises: a model of the user's choice, or extracts without any; and what a dry run says
                     of it.
    tag              `clew tag`: give a session a tag.
    trim             `clew trim`: make a session fit again: shorter tool calls, no thinking, no pictures, no dead
                     weight.
    undo             `clew undo`: take back what clew wrote.
"""
