"""Libraries that are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from reshuffle.errors import MissingPackageError


def library(name: str) -> Any:
    """The module of a library that may not be installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(name.partition(".")[0], extra="neighbours") from error
