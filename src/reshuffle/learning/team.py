"""Several processes that train or answer together, as torchrun starts them: gloo on CPUs, NCCL on GPUs.

Every process has the whole model and the whole graph, and computes its share of the queries. The processes exchange
sums, so all continue with the same numbers. The first process writes and prints.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import torch
import torch.distributed as dist

from reshuffle.errors import ReshuffleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import Tensor


@dataclass(frozen=True)
class Team:
    """This process and how many there are."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"  # where sums are made

    @property
    def is_first(self) -> bool:
        """Does this process write and print?"""
        return self.rank == 0

    def rows(self, count: int) -> slice:
        """The rows of this process: as many as others have, or one fewer."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def add_up(self, tensor: Tensor) -> None:
        """Replace the numbers by their sums over all processes."""
        if self.size > 1:
            dist.all_reduce(tensor)

    def joined(self, own: NDArray[Any]) -> NDArray[Any]:
        """The rows of all processes, in their order: a sum of what each has at its place, with 0 elsewhere."""
        if self.size == 1:
            return own
        sizes = torch.zeros(self.size, dtype=torch.int64, device=self.device)
        sizes[self.rank] = len(own)
        self.add_up(sizes)
        ends = sizes.cumsum(0).tolist()
        rows = torch.from_numpy(own).to(self.device)
        everything = torch.zeros((ends[-1], *own.shape[1:]), dtype=rows.dtype, device=self.device)
        everything[ends[self.rank] - len(own) : ends[self.rank]] = rows
        self.add_up(everything)
        return everything.cpu().numpy()

    def told(self, content: bytes | None) -> bytes | None:
        """What the first process has to tell, on all of them."""
        if self.size == 1:
            return content
        length = torch.tensor([-1 if content is None else len(content)], device=self.device)
        dist.broadcast(length, 0)
        if int(length) < 0:
            return None
        sent = torch.zeros(int(length), dtype=torch.uint8, device=self.device)
        if content is not None:
            sent.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        dist.broadcast(sent, 0)
        return sent.cpu().numpy().tobytes()


ALONE = Team()
STOPPING = (signal.SIGINT, signal.SIGTERM)


def added_up(team: Team, parameters: Sequence[Tensor], loss: Tensor, asked: int) -> tuple[Tensor, int]:
    """Add up gradients, losses, and requests to stop over a team, in one exchange; the loss, and the signal if any.

    A gradient that no process has stays None, since Adam passes such a parameter over.
    """
    there = [float(one.grad is not None) for one in parameters]
    asks = [float(asked == number) for number in STOPPING]
    sizes = [one.numel() for one in parameters]
    grads = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
    told = torch.tensor([*there, *asks], device=loss.device)
    flat = torch.cat([*(grad.flatten() for grad in grads), told, loss.reshape(1)])
    team.add_up(flat)
    *pieces, told, loss = flat.split([*sizes, len(told), 1])
    heard = told.tolist()
    for one, piece, number in zip(parameters, pieces, heard, strict=False):
        one.grad = piece.view_as(one) if number else None
    requests = zip(STOPPING, heard[len(parameters) :], strict=True)
    return loss.squeeze(0), max((number for number, count in requests if count), default=0)


@contextmanager
def joined_team(device: str, environment: Mapping[str, str] = os.environ) -> Iterator[tuple[Team, str]]:
    """The team that torchrun has started this process for, and the device of this process; alone without torchrun."""
    size = int(environment.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE, device
        return
    local, here = (int(environment.get(name, "0")) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if on_gpu and torch.cuda.device_count() < here:
        raise ReshuffleError(
            f"{here} processes on a machine with {torch.cuda.device_count()} GPUs",
            hint="start one process per GPU, or train with --device cpu",
        )
    device = f"cuda:{local}" if on_gpu else "cpu"
    if on_gpu:
        torch.cuda.set_device(local)
    _share_cores(max(1, here))
    dist.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield Team(int(environment["RANK"]), size, device), device
    finally:
        dist.destroy_process_group()


def _share_cores(processes: int) -> None:
    """Each process has its part of the cores; more threads than cores would wait for each other."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = max(1, cores // processes)
    torch.set_num_threads(threads)
    numba.set_num_threads(min(threads, numba.get_num_threads()))
