#!/usr/bin/env python3
"""Builds that lay a shared pace or a fleet's state out in another way, or mean another thing by it, never read each other's."""
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class Layout(unittest.TestCase):
    def digest(self, header=None, edit=None, root="headway/shared/common_pace.hpp"):
        with tempfile.TemporaryDirectory() as folder:
            include = Path(folder, "include")
            shutil.copytree(ROOT / "include", include)
            if header:
                path = include / "headway" / header
                before = path.read_text()
                path.write_text(edit(before))
                self.assertNotEqual(path.read_text(), before)
            out = Path(folder, "layout.hpp")
            subprocess.run(["cmake", f"-DINCLUDE={include}", f"-DROOT={root}", "-DNAME=LAYOUT", f"-DOUT={out}", "-P", ROOT / "cmake/layout.cmake"], check=True)
            return re.search(r'"([0-9a-f]{16})"', out.read_text())[1]

    def test_two_fields_that_change_places_are_another_layout(self):
        def swapped(text):
            return text.replace("waits = false", "x = false").replace("here = false", "waits = false").replace(
                "x = false", "here = false")
        self.assertNotEqual(self.digest("shared/common_pace.hpp", swapped), self.digest())

    def test_so_is_one_of_a_law_within(self):
        for header in ("law/seek.hpp", "window/reno.hpp", "time.hpp"):
            with self.subTest(header):
                self.assertNotEqual(self.digest(header, lambda text: text + "struct one_more {};\n"), self.digest())

    def test_so_is_one_of_a_state(self):
        for header in ("law/seek.hpp", "fleet/report.hpp"):
            with self.subTest(header):
                self.assertNotEqual(
                    self.digest(header, lambda text: text + "struct one_more {};\n", "headway/fleet/combine.hpp"),
                    self.digest(root="headway/fleet/combine.hpp"))

    def test_another_comment_or_another_header_is_the_same(self):
        self.assertEqual(self.digest("law/seek.hpp", lambda text: text + "// a remark\n"), self.digest())
        self.assertEqual(self.digest("governor.hpp", lambda text: text + "struct one_more {};\n"), self.digest())


if __name__ == "__main__":
    unittest.main()
