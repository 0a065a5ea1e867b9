"""What each page shows, as plain data: pure functions from a world to dictionaries, in the shapes of `--json`."""
