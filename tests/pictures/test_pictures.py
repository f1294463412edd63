"""docs/pictures/ shows what `top` draws now, and documents refer to pictures that exist."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"


def read_all(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in pathlib.Path(folder).glob("*.svg")}


class Pictures(unittest.TestCase):
    def test_they_are_what_is_drawn_now(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ["RDMASCOPE_DRAW"], folder], check=True)
            now, there = read_all(folder), read_all(PICTURES)
        self.assertGreater(len(now), 4)
        self.assertEqual(set(there), set(now), "run ./dev pictures")
        different = [name for name in now if now[name] != there[name]]
        self.assertEqual(different, [], "run ./dev pictures and look at them")

    def test_they_are_documents_of_one_size_in_both_themes(self):
        for path in PICTURES.glob("*-dark.svg"):
            with self.subTest(picture=path.name):
                dark = ElementTree.parse(path).getroot()
                light = ElementTree.parse(path.with_name(path.name.replace("-dark", "-light"))).getroot()
                self.assertEqual(dark.attrib["viewBox"], light.attrib["viewBox"])
                texts = [["".join(element.itertext()) for element in tree.iter("{http://www.w3.org/2000/svg}text")]
                         for tree in (dark, light)]
                self.assertGreater(len(texts[0]), 20)

    def test_documents_show_pictures_that_exist(self):
        shown = set()
        for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
            for link in re.findall(r"""(?:src|srcset)="([^"]+\.svg)"|\]\(([^)]+\.svg)\)""", page.read_text("utf-8")):
                target = (page.parent / (link[0] or link[1])).resolve()
                self.assertTrue(target.is_file(), f"{page.name}: {target.name}")
                shown.add(target.name)
        self.assertGreater(len(shown), 1)


if __name__ == "__main__":
    unittest.main()
