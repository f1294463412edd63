"""Every filter that the documentation, the profile's buttons and its colouring rules promise is one, and the profile is read without
complaint. Some are held to what they say of a capture whose faults are known."""
import csv
import pathlib
import re
import shutil
import unittest

from plugged import ROOT, TestCase, capture, faults, home, said, tshark
from session import Session

PROFILE = ROOT / "plugins/wireshark/profile"


def documented():
    text = (ROOT / "docs/wireshark-filters.md").read_text()
    return [row.group(1) for row in re.finditer(r"(?m)^\| .* \| `(.*)` \|$", text)]


def buttons():
    lines = [line for line in (PROFILE / "dfilter_buttons").read_text().splitlines() if line and not line.startswith("#")]
    return [row[2] for row in csv.reader(lines)]


def rules():
    return [line.split("@")[2] for line in (PROFILE / "colorfilters").read_text().splitlines() if line.startswith("@")]


def luminance(colour):
    """Of WCAG 2, relative."""
    parts = [int(part) / 65535 for part in colour.split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class Filters(TestCase):
    def test_every_filter_is_one(self):
        everything = documented() + buttons() + rules()
        self.assertGreater(len(documented()), 30, "else the tables of the page are not found")
        with Session() as session:
            session.open(capture("rxe-cm-reject"))
            for expression in everything:
                with self.subTest(expression):
                    self.assertIsNotNone(session.ask("frames", filter=expression))
                    self.assertEqual([], said(session.complaints()))
            self.assertIsNone(session.ask("frames", filter="rdma.nonesuch"))

    def test_a_filter_that_is_none_is_told(self):
        self.assertNotEqual(tshark("-n", "-r", capture("rxe-cm-reject"), "-Y", "rdma.nonesuch").returncode, 0)

    def test_the_profile_is_read(self):
        """Its columns give what their fields give, by a profile of the user's own."""
        profile = pathlib.Path(home(True)) / ".config/wireshark/profiles/RDMA"
        shutil.copytree(PROFILE, profile, dirs_exist_ok=True)
        for folder in (profile, profile.parent, profile.parent.parent, profile.parent.parent.parent):
            folder.chmod(0o755)
        path = capture("rds-rxe")
        columns = tshark("-n", "-C", "RDMA", "-r", path, "-T", "tabs")
        self.assertEqual((columns.returncode, faults(columns)), (0, []), columns.stderr)
        self.assertNotIn("olor filter", columns.stderr)
        fields = tshark("-n", "-r", path, "-T", "fields", "-E", "aggregator=,", "-e", "frame.number", "-e", "rdma.flow", "-e",
                        "rdma.message.operation").stdout
        shown = [line.split("\t") for line in columns.stdout.splitlines()]
        self.assertGreater(len(shown), 100)
        self.assertTrue(all(len(row) == 14 for row in shown), "thirteen columns, and the arrow that tshark puts between two")
        self.assertEqual([[row[0].strip(), row[5], row[8]] for row in shown], [line.split("\t") for line in fields.splitlines()])
        coloured = tshark("-n", "-C", "RDMA", "--color", "-r", path)
        self.assertEqual((coloured.returncode, faults(coloured)), (0, []), coloured.stderr)

    def test_colours_can_be_read(self):
        """WCAG 2's contrast for text of ordinary size, by its formula."""
        seen = set()
        for line in (PROFILE / "colorfilters").read_text().splitlines():
            if line.startswith("@"):
                back, fore = re.findall(r"\[([\d,]+)\]", line)
                light, dark = sorted((luminance(back), luminance(fore)), reverse=True)
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 4.5, line)
                seen.add((back, fore))
        self.assertEqual(len(seen), len(rules()), "each has colours of its own")


if __name__ == "__main__":
    unittest.main()
