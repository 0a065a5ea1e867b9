"""The data of each page: pure functions from a world to dictionaries, as in `--json`."""
