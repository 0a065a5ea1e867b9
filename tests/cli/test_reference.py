from __future__ import annotations

import re
from pathlib import Path

from reshuffle.cli.main import VERBS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"


def test_the_reference_lists_exactly_the_verbs_there_are() -> None:
    listed = re.findall(r"^\| `reshuffle (\w+)", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert listed == list(VERBS)
