"""Memory: how much is in use, and what to do when the GPU has none left."""

from __future__ import annotations

import ctypes
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch

from reshuffle.errors import ReshuffleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from reshuffle.progress import Notes

Result = TypeVar("Result")

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h numbers them


def memory_in_use(device: torch.device) -> int:
    """Bytes: of the GPU where the work is there, else of this process."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # not Linux: the most it ever was
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * resource.getpagesize()


def keep_freed_memory() -> None:
    """Ask the C library to keep what is freed: taking it anew, page by page, is a tenth of a step on the CPU."""
    with suppress(OSError, AttributeError):  # only glibc has it
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, 1 << 30)
        library.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)


def run_in_pieces(
    step: Callable[[Sequence[Tensor]], Result], batch: Tensor, *, pieces: int, notes: Notes
) -> tuple[Result, int]:
    """What `step` makes of the batch cut into pieces, and how many it took: twice as many while memory runs out."""
    while True:
        try:
            return step(batch.chunk(pieces)), pieces
        except torch.cuda.OutOfMemoryError as error:
            reason = str(error).split(". ", maxsplit=1)[0]
        # Outside of the handler, whose exception still holds the tensors that did not fit.
        if pieces >= len(batch):
            raise ReshuffleError(
                f"the GPU memory does not suffice for a single triple: {reason}",
                hint="lower num_channels or num_slots, or train with --device cpu",
            )
        pieces *= 2
        torch.cuda.empty_cache()
        notes(f"out of GPU memory: going on with batches in {pieces} pieces ({reason})")
