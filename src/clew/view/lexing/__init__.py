"""Read code into lines of tokens, with the rules of Pygments but faster.

Modules:
    code_lines   Split code into lines of tokens.
    lexer_rules  Run the rules of a Pygments lexer with one regular expression for each state instead of one for
                 each rule.
    regex_reach  Find out whether a regular expression may read past the end of a piece of text that a line break
                 follows.
    regex_start  Find out which regular expressions may match at a character.
    regex_tree   Parse regular expressions, to find out what they can match: `regex_reach`, `regex_start`.
"""
