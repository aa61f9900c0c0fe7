"""Compare what two versions of clew answer, to the byte.

python -m tests.compare_versions OLD [--only demo damaged samples generated] [--cases 50] [--runs 12] [--size 60M]
                                     [--sessions 12] [--samples DIR] [--keep DIR] [--show 3]

OLD is a commit; the other version is this checkout. Both get copies of the same trees and run the same commands, each in
a process of its own. What is compared: the exit code, what was printed, and each file that a command wrote or changed.
Ids that a command made up and times of today are replaced by their order, so that edits can be compared as well.

Modules:
    __main__   Parse the options, run the trees, print the differences.
    answers    Run a command, and collect and normalise what it answered.
    scenes     The trees, and the commands for each.
"""
