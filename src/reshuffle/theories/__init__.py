"""Theories: everything that answers questions about a graph, behind one interface.

    theory = load(path)                       rules, a rule list, ordering constraints, or a trained network
    answers = theory.on(graph)                what follows and what is plausible, whatever the theory is
    theory.certain()                          the part of it that entails
    theory.edited(without=..., written=...)   another theory

`kinds.KINDS` lists the kinds. Each is one module with a class and a function `read`, and one line there.
"""

from reshuffle.theories.kinds import load
from reshuffle.theories.theory import Reading, Reasoning, Theory
from reshuffle.theories.theory_answers import TheoryAnswers

__all__ = ["Reading", "Reasoning", "Theory", "TheoryAnswers", "load"]
