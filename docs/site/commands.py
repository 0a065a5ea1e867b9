"""The directive `commands`: every command and option, from the parser itself."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst import Directive

from reshuffle.cli.main import build_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

WIDTH = 100


class Commands(Directive):
    """A section for each command, with its description, its usage and its options."""

    def run(self) -> list[nodes.Node]:
        """The sections, in the order of `reshuffle --help`."""
        return [self.section_of(parser) for parser in leaves(build_parser())]

    def section_of(self, parser: argparse.ArgumentParser) -> nodes.Node:
        """A command's section, with an address of its own."""
        section = nodes.section(ids=[nodes.make_id(parser.prog)], names=[parser.prog])
        section += nodes.title(text=parser.prog)
        section += [block_of(text) for text in (parser.description or "").strip().split("\n\n")]
        section += nodes.literal_block(text=usage_of(parser), language="text")
        for group in parser._action_groups:
            section += self.group_of(parser, group)
        self.state.document.note_explicit_target(section)
        return section

    def group_of(self, parser: argparse.ArgumentParser, group: Any) -> list[nodes.Node]:
        """The options of a group, under its name."""
        shown = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        if not shown:
            return []
        title = group.title + (f": {group.description}" if group.description else "")
        entries = [entry_of(action, parser.formatter_class(parser.prog)) for action in shown]
        return [nodes.paragraph("", "", nodes.strong(text=title)), nodes.definition_list("", *entries)]


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands that can be run; `reshuffle data` alone cannot."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield parser
    for action in inner:
        for below in action.choices.values():
            yield from leaves(below)


def block_of(text: str) -> nodes.Node:
    """A paragraph of a description; examples and what stands in columns stay as they are."""
    if re.search(r"^ *reshuffle |\S {2,}\S", text, flags=re.MULTILINE):
        return nodes.literal_block(text=text, language="text")
    return nodes.paragraph(text=text)


def usage_of(parser: argparse.ArgumentParser) -> str:
    """The usage as `--help` prints it, in a width that does not depend on the terminal."""
    formatter = argparse.HelpFormatter(parser.prog, width=WIDTH)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return formatter.format_help().strip()


def entry_of(action: argparse.Action, formatter: argparse.HelpFormatter) -> nodes.definition_list_item:
    """An option with its help."""
    told = formatter._expand_help(action) if action.help else ""
    return nodes.definition_list_item(
        "",
        nodes.term("", "", nodes.literal(text=formatter._format_action_invocation(action))),
        nodes.definition("", nodes.paragraph(text=told)),
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
