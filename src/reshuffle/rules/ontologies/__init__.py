"""Ontologies as data: class expressions and axioms of OWL 2, and what reads them from files.

`axioms` is the vocabulary that all readers give and that all reasoning over ontologies takes.
"""
