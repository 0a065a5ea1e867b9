"""What a browser would see of our pictures and pages: their texts, and what they would load."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

NAMESPACE = "http://www.w3.org/2000/svg"
HOSTILE = "<img src=x onerror=alert(1)>\"'&]]>\u202e\x00 end"
"""A name that would run, break out of an attribute, turn the line around and cut it."""
SHOWN_HOSTILE = "<img src=x onerror=alert(1)>\"'&]]>\\u202e\\u0000 end"
VOID = {"meta", "br", "hr", "img", "input", "link"}


def svg_texts(svg: str) -> list[str]:
    """Every text of an SVG, titles included; it must be well-formed, and load nothing."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{{{NAMESPACE}}}svg"
    assert_loads_nothing(svg)
    tags = {element.tag.removeprefix(f"{{{NAMESPACE}}}") for element in root.iter()}
    assert tags <= {"svg", "g", "rect", "path", "text", "title", "style", "defs", "marker"}
    return [element.text for element in root.iter() if element.text and element.text.strip()]


def assert_loads_nothing(markup: str) -> None:
    assert not re.search(r"\b(src|href)\s*=|@import|url\((?!#rs-arrow\))", _without_text(markup))
    assert not re.search(r"https?:", markup.replace(NAMESPACE, ""))


def _without_text(markup: str) -> str:
    """The tags and styles alone: names may say what they like."""
    found = Page()
    found.feed(markup)
    return " ".join(found.tags)


class Page(HTMLParser):
    """The texts and tags of a page; tags must be closed in the order in which they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.opened: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(" ".join([tag, *(f'{name}="…"' for name, _ in attrs)]))
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(" ".join([tag, *(f'{name}="…"' for name, _ in attrs)]))

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.opened and self.opened[-1] in ("style", "script"):
            self.tags.append(data)
        elif data.strip():
            self.texts.append(data)


def page_texts(page: str) -> list[str]:
    """Every text of a page, or of a part of one, that loads nothing."""
    assert_loads_nothing(page)
    found = Page()
    found.feed(page)
    found.close()
    assert not found.opened
    assert not any(tag.split()[0] in ("img", "link", "iframe", "object") for tag in found.tags)
    return found.texts
