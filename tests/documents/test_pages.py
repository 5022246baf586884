#!/usr/bin/env python3
"""The documents agree with the tree: relative links lead to files, the table of result codes is that of the header, and the
purposes of memory are all listed."""
import os
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("MICA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


class Documents(unittest.TestCase):
    def test_relative_links_lead_to_files(self):
        link_count = 0
        for document in DOCUMENTS:
            for target in re.findall(r"\]\(([^)#\s]+)", document.read_text()):
                if re.match(r"[a-z]+:", target):
                    continue
                link_count += 1
                with self.subTest(document=document.name, target=target):
                    self.assertTrue((document.parent / target).exists())
        self.assertGreater(link_count, 20)

    def test_links_to_headings_lead_to_headings(self):
        links = [(document, target, anchor) for document in DOCUMENTS
                 for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", document.read_text())]
        self.assertGreater(len(links), 5)
        for document, target, anchor in links:
            page = document.parent / target if target else document
            with self.subTest(document=document.name, target=target, anchor=anchor):
                headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
                # As forges make anchors: small letters, no punctuation, hyphens for spaces.
                self.assertIn(anchor, [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
                                       for heading in headings])

    def test_every_page_of_the_guide_and_every_decision_is_in_the_index(self):
        index = (ROOT / "docs/README.md").read_text()
        pages = [*(ROOT / "docs/guide").glob("*.md"), *(ROOT / "docs/decisions").glob("*.md")]
        self.assertGreater(len(pages), 10)
        for page in pages:
            with self.subTest(page=page.name):
                self.assertIn(f"]({page.relative_to(ROOT / 'docs')})", index)

    def test_the_table_of_codes_is_that_of_the_header(self):
        header = (ROOT / "include/mica/result.h").read_text()
        codes = re.findall(r'^\s+X\((MICA_\w+), "([^"]+)"\)', header, re.M)
        table = re.findall(r"^\| `(MICA_\w+)` \| ([^|]+) \|", (ROOT / "docs/guide/errors.md").read_text(), re.M)
        self.assertGreater(len(codes), 10)
        self.assertEqual(table, codes)

    def test_the_table_of_purposes_is_that_of_the_header(self):
        header = (ROOT / "include/mica/memory.h").read_text()
        purposes = re.findall(r'^\s+X\(MICA_MEMORY_\w+, "([^"]+)"\)', header, re.M)
        page = (ROOT / "docs/guide/memory.md").read_text()
        table = re.findall(r"^\| (\w+) \|", page[page.index("| purpose |"):], re.M)[1:]
        self.assertGreater(len(purposes), 5)
        self.assertEqual(table, purposes)


if __name__ == "__main__":
    sys.exit(unittest.main())
