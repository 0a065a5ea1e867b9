"""Training: from triples to matrices (needs torch)."""

from __future__ import annotations

import os

from reshuffle.packages import require

# Waiting OpenMP threads of torch and numba otherwise keep cores busy that others could use: with two threads on two
# shared cores a training step took four times as long. It works where torch has not been imported before.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

require("torch", "safetensors")
