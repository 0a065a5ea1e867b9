"""The verbs, one a file: `HELP` (one line), `configure(parser)` and `run(arguments, console) -> exit status`.

A verb imports nothing slow at its top, so that `reshuffle --help` starts at once; `main.VERBS` lists it.
"""
