# SPDX-License-Identifier: MIT
"""The sources of the manual pages."""

import re

import helpers

PAGES = helpers.REPO / "man"


def source(page):
    """The source of a page without its comments."""
    return re.sub(r'^\.\\".*\n', "", (PAGES / page).read_text(encoding="utf-8"),
                  flags=re.MULTILINE)


def displays(page):
    """The text of each literal display of a page, as a reader copies it."""
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", source(page), re.MULTILINE | re.DOTALL)
    return [text.replace("\\e", "\\").replace("\\*q", '"').replace("\\&", "") for text in found]
