"""The present code does what is recorded: verbs, files of before, scores bit by bit, trainings, and proofs.

`recording.py` says how it was recorded, and records anew what is meant to change.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import recording
from recorded_calls import CALLS, Call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERBS = json.loads(recording.VERBS.read_text(encoding="utf-8"))
SCORES = json.loads(recording.SCORES.read_text(encoding="utf-8"))
PROOFS = recording.recorded_proofs()


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with recording.one_thread():
        yield


def assert_same(recorded: Any, present: Any, *, exact: bool) -> None:
    found = recording.differences(
        json.loads(json.dumps(recorded)), json.loads(json.dumps(present)), exact=exact
    )
    assert not found, "\n".join(found[:5])


def is_same_machine(recorded: dict[str, Any]) -> bool:
    return bool(recorded["machine"] == recording.machine())


def test_every_call_is_recorded_once() -> None:
    assert [call.name for call in CALLS] == list(VERBS["calls"])


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_verbs(call: Call, tmp_path: Path) -> None:
    recorded = VERBS["calls"][call.name]
    if "{data}" in json.dumps(recorded) and not recording.DATA.is_dir():
        pytest.skip("the data sets are not here")
    with recording.workplace(tmp_path):
        assert_same(recorded, recording.ran(call), exact=is_same_machine(VERBS))


def test_stored_results_are_reported_alike() -> None:
    recorded = json.loads(recording.BENCH.read_text(encoding="utf-8"))
    present = recording.bench_rows()
    assert_same(recorded, {name: present.get(name) for name in recorded}, exact=True)  # there may be more


@pytest.mark.parametrize("name", recording.MODELS)
def test_stored_models_load_and_score_alike(name: str) -> None:
    assert_same(SCORES["models"][name], recording.loaded_scores(name), exact=is_same_machine(SCORES))


@pytest.mark.parametrize("name", recording.CONFIGURATIONS)
def test_trainings_lose_alike(name: str) -> None:
    assert_same(SCORES["trainings"][name], recording.losses_of(name), exact=is_same_machine(SCORES))


@pytest.mark.parametrize("name", recording.UNFINISHED)
def test_trainings_that_were_cut_off_go_on_alike(name: str, tmp_path: Path) -> None:
    with recording.workplace(tmp_path):
        present = recording.resumed_scores(name)
    assert_same(SCORES["resumed"][name], present, exact=is_same_machine(SCORES))


@pytest.mark.parametrize("name", recording.COMPILED)
def test_compiled_files_load_and_derive_alike(name: str) -> None:
    assert_same(SCORES["compiled"][name], recording.compiled_answers(name), exact=True)


@pytest.mark.parametrize("number", range(len(PROOFS)))
def test_proofs(number: int) -> None:
    base = PROOFS[number]["base"]
    assert_same(PROOFS[number]["found"], recording.proofs_of(base), exact=True)
