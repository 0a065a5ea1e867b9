"""Where to compute."""

from __future__ import annotations

import torch

from reshuffle.errors import ReshuffleError


def chosen_device(name: str) -> torch.device:
    """`auto` takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ReshuffleError(
            f"device '{name}' was asked for, and torch sees no GPU",
            hint="leave --device out, or install a build of torch with CUDA",
        )
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ReshuffleError(f"unknown device '{name}'", hint="auto, cpu or cuda") from error
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)  # kernels and recordings go to the current one
    return device
