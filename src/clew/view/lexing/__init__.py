"""Read code into lines of tokens, with the rules of Pygments but faster.

Modules:
    code_lines   Split code into lines of tokens.
    lexer_rule   The rules of a Pygments lexer, with what their regular expressions tell: see `regex_start` and
                 `regex_reach`.
    lexer_rules  Run the rules of a Pygments lexer: only those that may match at a character, and many of them as
                 one expression.
    plain_runs   Find where the next token with a colour may begin: one expression reads all plain tokens up to
                 there.
    regex_reach  Find out whether a regular expression may read past the end of a piece of text that a line break
                 follows.
    regex_start  Find out at which characters a regular expression may match.
    regex_text   Write a parsed regular expression as text again: the same for text in ASCII, but quicker, and
                 without groups.
    regex_tree   Parse regular expressions, to find out what they can match: `regex_reach`, `regex_start`.
"""
