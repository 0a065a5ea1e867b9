"""The parts by name; to add one, write it and add it here."""

from __future__ import annotations

from benchmarks.attack.kills import Kills
from benchmarks.attack.readers import Directories, Readers
from benchmarks.attack.reasoning import Peers, RuleBases, Updates

PARTS = {part.name: part for part in (Readers(), Directories(), RuleBases(), Peers(), Updates(), Kills())}
