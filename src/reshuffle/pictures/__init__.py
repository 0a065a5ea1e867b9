"""Pictures and pages of what other layers hold: shapes as SVG, graphs as DOT and Mermaid, tables as HTML.

What is drawn comes as data: a `Diagram` (nodes, each with what it rests on), rows of a table, points of a curve. A
layout makes a `Scene` of it, which is a list of boxes, lines and labels; `svg` writes scenes. Nothing here
knows of rules, graphs or models, and nothing but the standard library is loaded. Names are text everywhere: `markup`
escapes them.
"""
