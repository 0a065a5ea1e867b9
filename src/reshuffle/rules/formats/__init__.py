"""The rule formats, one file each: how a line is read and how a rule is written.

Every reader turns a line into a `Statement` (atoms with their columns); `shape` then decides what kind of
rule the atoms form, so that all formats share one definition of the rule class and one set of errors.
"""
