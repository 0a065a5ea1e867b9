"""The explorer: facts, rules and models to click through in a browser (`reshuffle serve`).

    opening ─► subject ─► world(edits) ─► views ─► web.app ─► one page, and the same data as JSON

A `Subject` is what the server shows: rules, a rule model or a soft model, with facts. A `World` is a subject after some
edits: facts added or removed, rules deleted or added. A world is immutable, so users who share a server see consistent
answers, and undo goes back to an earlier world. `views` turn a world into plain data; `web` serves the data and the
page in `static`.
"""
