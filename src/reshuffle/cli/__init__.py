"""The `reshuffle` command, without any algorithm: `verbs`, one a file, and what they share.

Streams, exit status, `--json`, `-q` and `-v` are the same for all and live in `main` and `console`.
"""
