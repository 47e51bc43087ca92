# SPDX-License-Identifier: MIT
"""The manual pages as a site: all links lead somewhere, all pages are in the index, nothing comes
from elsewhere."""

import html.parser
import re
import sys

import pytest

import helpers
from manuals import PAGES, source
from test_manuals import ALL_PAGES, need_mandoc

pytestmark = pytest.mark.beside

GENERATE = PAGES / "site" / "generate"
VERSION = "1.2.3"
# Of the elements that mandoc and we use, those without an end.
EMPTY = {"meta", "link", "br"}


class Page(html.parser.HTMLParser):
    """What a page has: the ids of its elements, and the values of href and src."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded, self.open, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], "never closed"

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in EMPTY:
            self.open.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "a" and "href" in attrs:  # those of .In have none
            self.links.append(attrs["href"])
        else:
            self.loaded += [attrs[key] for key in ("href", "src") if key in attrs]

    def handle_endtag(self, tag):
        assert tag in EMPTY or self.open.pop() == tag, "</%s>, line %d" % (tag, self.getpos()[0])

    def handle_data(self, data):
        self.text.append(data)


def generate(folder, **options):
    # By the path of this Python, as PATH may be one where nothing is found.
    return helpers.run([sys.executable, GENERATE, folder, VERSION, *(PAGES / page for page in ALL_PAGES)],
                       **options)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """{name of the file: its Page}."""
    need_mandoc()
    folder = tmp_path_factory.mktemp("site") / "html"
    done = generate(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in folder.iterdir()} == {
        "index.html", "style.css", *(page + ".html" for page in ALL_PAGES)}
    return {path.name: Page(path.read_text("utf-8")) for path in folder.glob("*.html")}


def test_links_lead_somewhere(site):
    checked = 0
    for name, page in site.items():
        assert len(set(page.ids)) == len(page.ids), name
        for link in page.links:
            file, _, anchor = link.partition("#")
            if re.match(r"\w+:", link):
                # Manuals of others, and what pages cite.
                assert link.startswith("https://"), "%s: %s" % (name, link)
                continue
            target = site.get(file or name)
            assert target, "%s: %s" % (name, link)
            assert not anchor or anchor in target.ids, "%s: %s" % (name, link)
            checked += 1
    assert checked > 500


def test_index_has_all_pages(site):
    index = site["index.html"]
    words = " ".join("".join(index.text).split())
    for page in ALL_PAGES:
        assert page + ".html" in index.links
        described = re.search(r"^\.Nd (.*)$", source(page), re.MULTILINE)[1]
        name, _, section = page.rpartition(".")
        assert "%s(%s) %s" % (name, section, described) in words


def test_each_reference_is_a_link(site):
    """Those to pages of ours are links between pages."""
    for page in ALL_PAGES:
        for name, section in re.findall(r"^\.Xr (\S+) (\d)", source(page), re.MULTILINE):
            file = "%s.%s" % (name, section)
            expected = file + ".html" if file in ALL_PAGES else "https://manpages.debian.org/" + file
            assert expected in site[page + ".html"].links


def test_loads_nothing_from_elsewhere(site):
    for name, page in site.items():
        assert page.loaded == ["style.css"], name
    style = (GENERATE.parent / "style.css").read_text("utf-8")
    assert "url(" not in style and "@import" not in style


def test_without_mandoc_it_says_so(tmp_path):
    done = generate(tmp_path / "html", env={"PATH": str(tmp_path)})
    assert done.returncode != 0
    assert done.stderr == "generate: no mandoc here: install the package of that name\n"
    assert not (tmp_path / "html").exists()
