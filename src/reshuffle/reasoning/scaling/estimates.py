"""Conservative estimates of the memory that facts need, and the free memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reshuffle.reasoning.scaling.data_sets import files_of

if TYPE_CHECKING:
    from pathlib import Path

# Measured: 20 million triples over 5 million entities are 500 MB of text and take 0.9 GB to read, and 0.6 GB more
# as rows in both directions, which every engine in memory makes.
_BYTES_PER_TEXT_BYTE = 3
_BYTES_PER_PACKED_TEXT_BYTE = 12
_BYTES_PER_ROW = 75


def bytes_to_load(path: Path) -> int:
    """About how many bytes the facts of a file or a folder take as a graph that is reasoned over."""
    if path.is_dir() or path.suffix == ".parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load

        return bytes_of_rows(sum(int(pq.read_metadata(file).num_rows) for file in files_of(path)))
    per_byte = _BYTES_PER_PACKED_TEXT_BYTE if path.suffix == ".gz" else _BYTES_PER_TEXT_BYTE
    return path.stat().st_size * per_byte


def bytes_of_rows(count: int) -> int:
    """About how many bytes that number of facts takes, with their names and as rows in both directions."""
    return count * _BYTES_PER_ROW


def available_bytes() -> int:
    """The memory that is free, or can be made free; where the system does not tell, all of it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            found = {line.partition(":")[0]: line.split()[1] for line in lines}
        return int(found["MemAvailable"]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
