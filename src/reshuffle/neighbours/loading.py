"""Check what other libraries give."""

from __future__ import annotations

from reshuffle.errors import InputError


def check_has(given: object, names: tuple[str, ...], *, expected: str, hint: str) -> None:
    """Raise `InputError` where an object lacks one of these attributes, and so is none of another library."""
    if not all(hasattr(given, name) for name in names):
        raise InputError(f"found {type(given).__name__}, expected {expected}", hint=hint)
