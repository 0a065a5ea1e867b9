"""Load libraries on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from reshuffle.errors import InputError, MissingPackageError


def check_has(given: object, names: tuple[str, ...], *, expected: str, hint: str) -> None:
    """Raise `InputError` where an object lacks one of these attributes, and so is none of another library."""
    if not all(hasattr(given, name) for name in names):
        raise InputError(f"found {type(given).__name__}, expected {expected}", hint=hint)


def library(name: str) -> Any:
    """The module of a library that may not be installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(name.partition(".")[0], extra="neighbours") from error
