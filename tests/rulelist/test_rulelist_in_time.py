"""What a training says that had no time for all of its work."""

from __future__ import annotations

from reshuffle import learn_rules

FACTS = [(f"e{number}", name, f"e{(7 * number + 3) % 90}") for number in range(90) for name in ("r", "s")]


def test_rules_that_were_not_put_in_order_are_told() -> None:
    told: list[str] = []
    assert len(learn_rules(FACTS, minutes=1e-9, notes=told.append))
    assert "there was no time to order the rules of all relations: theirs come last, by effect" in told
    told.clear()
    assert len(learn_rules(FACTS, notes=told.append))
    assert not told
