"""Mined rules as they are, constants included: the confidences of all rules that lead to an answer rank it."""
