"""What is said about a name that is neither a file nor a benchmark."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable


def no_such_data(name: str, benchmarks: Iterable[str]) -> InputError:
    """The error, with the files that are called so but for their ending."""
    beside = Path(name).parent.glob(f"{glob.escape(Path(name).name)}.*")
    files = sorted(str(file) for file in beside if file.is_file())
    meant = (
        f"; did you mean {' or '.join(map(repr, files[:3]))}?" if files else did_you_mean(name, benchmarks)
    )
    return InputError(
        f"there is no file '{name}' and no benchmark of that name{meant}",
        hint="give a file of triples, or a name that `reshuffle data list` shows",
    )
