"""Ctrl-C waits while something is written down."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """An interrupt that arrives here is raised at the end.

    TensorBoard hands its events to a thread. What an interrupt leaves half handed over, the thread never gets, and
    closing the log waits for it.
    """
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted, and only it may say what happens then.
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *details: arrived.append(details))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if arrived:
            before(*arrived[0])
