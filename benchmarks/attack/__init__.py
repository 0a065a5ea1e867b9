"""An attack on the library: random files, rules, ontologies, requests, links and kills, and what may not come of them.

    python -m benchmarks.attack [--minutes M] [--seed S] [--parts NAME ...] [-o FOLDER] [--result FILE]

Every case must end, within a time limit, with a right answer or with an error of our own (status 2). Cases run in a
process of their own, so that one which kills the process or never ends is a failure like any other. A failure is
made smaller while it stays one, and stored as a JSON file; `--replay FILE` runs it again. All kinds get the same share
of the time. `registry` names the files with the kinds; servers listen on the loopback only.
"""
