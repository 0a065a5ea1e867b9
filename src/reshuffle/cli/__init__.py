"""The `reshuffle` command: one file per verb, no algorithm.

A verb is a module with `HELP` (one line), `configure(parser)` and `run(arguments, console) -> exit status`.
It imports nothing slow at its top, so that `reshuffle --help` starts at once; `main.VERBS` lists it.
Streams, exit status, `--json`, `-q` and `-v` are the same for all and live in `main` and `console`.
"""
