"""Settings as TOML: of a file, and as they are typed on a command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import Source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST, _LONGEST = 1 << 17, 1 << 14  # bytes of a file of settings, and of a line


def setting_from_text(text: str) -> tuple[str, Any]:
    """`key=value` as typed on a command line; what is not a TOML value is taken as a word.

    >>> setting_from_text("margin=0.5"), setting_from_text("initial=official")
    (('margin', 0.5), ('initial', 'official'))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"'{text}' is not a setting", hint="write key=value, such as num_slots=30")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return name.strip(), value.strip()


def read_toml(path: str | Path, *, hint: str = "one `name = value` per line") -> dict[str, Any]:
    """The values of a TOML file, or one clear error; `hint` says what to do about a file that is none."""
    try:
        return tomllib.loads(Source.at(path).read_text(most=_LARGEST, longest=_LONGEST).decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path))) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not TOML: {error}", place=Place(str(path)), hint=hint) from error
