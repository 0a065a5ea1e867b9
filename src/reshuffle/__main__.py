"""`python -m reshuffle` is the command `reshuffle`."""

from reshuffle.cli.main import entry_point

if __name__ == "__main__":
    entry_point()
