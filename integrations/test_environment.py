"""The environment of these tests has every extra."""

from importlib.metadata import distribution, requires

from packaging.requirements import Requirement


def test_every_extra_is_installed() -> None:
    wanted = [Requirement(line) for line in requires("reshuffle") or []]
    for requirement in wanted:
        if requirement.marker is None or requirement.marker.evaluate({"extra": "all"}):
            assert distribution(requirement.name), requirement
