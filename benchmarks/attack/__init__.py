"""An attack on the library: random files, rules, updates and kills, and what may not come of them.

    python -m benchmarks.attack [--minutes M] [--seed S] [--parts NAME ...] [-o FOLDER]

Every case must end, within a time limit, with a right answer or with an error of our own (status 2). Cases run in a
process of their own, so that one which kills the process or never ends is a failure like any other. A failure is
made smaller while it stays one, and stored as a JSON file; `--replay FILE` runs it again.
"""
