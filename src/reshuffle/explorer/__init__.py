"""The explorer: facts, rules and models to click through in a browser (`reshuffle serve`).

    opening ─► subject ─► world(edits) ─► views ─► web.app ─► one page, and the same data as JSON

A `Subject` is what is served: rules, a rule model or a soft model, with facts. A `World` is a subject after some edits
(facts added or taken back, rules struck out or written): it never changes, so that people who share a server see
consistent answers, and undoing is going back to another world. `views` turn a world into plain data, without a
server; `web` hands the data out, with the page in `static`.
"""
