"""`rdmascope doctor` as it is read: the page and the exit status, what cannot be obeyed, and what manual and
documentation have of it."""
import json
import re
import unittest

from command import ROOT, TestCase, run
from staged import Staged, doctor


class Page(Staged):
    def test_each_finding_has_its_four_parts(self):
        self.machine.remove("/dev/infiniband/uverbs0")
        result = doctor("--root", self.machine.root)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"^quartz17  Linux 6\.1\.0-56-amd64, Debian GNU/Linux 12 \(bookworm\)\n")
        self.assertRegex(result.stdout, r"\nbroken +mlx5_0  \[device\.nodes\]\n  seen +/dev/infiniband/uverbs0 is missing")
        self.assertRegex(result.stdout, r"\n  expected .*\n( .*\n)*  mend +udevadm trigger")
        self.assertRegex(result.stdout, r"\n1 broken, 0 warnings, 0 notes; \d+ checks found as they should be(, \d+ not applicable: [^;]*)?; ")
        self.assertNotIn("\x1b", result.stdout)
        self.assertIn("\x1b[1;31mbroken", doctor("--root", self.machine.root, "--color=always").stdout)

    def test_what_is_not_there_is_counted_apart(self):
        self.machine.remove("/sys/class/infiniband")
        findings = json.loads(doctor("--root", self.machine.root, "--json").stdout)["findings"]
        counts = {severity: sum(one["severity"] == severity for one in findings) for severity in ("ok", "not_applicable")}
        devices = [one["check"] for one in findings
                   if one["severity"] == "not_applicable" and one["observed"] == "no RDMA device"]
        self.assertIn("device.ports", devices)
        self.assertIn("network.mtu", devices)
        page = doctor("--root", self.machine.root).stdout
        self.assertRegex(page, rf"; {counts['ok']} checks found as they should be, {counts['not_applicable']} not applicable: ")
        self.assertRegex(page, r"not applicable: [^;]*no RDMA device")
        self.assertRegex(doctor("--root", self.machine.root, "-v").stdout, r"\nn/a +.*no RDMA device  \[device\.ports\]")

    def test_it_fits_eighty_columns_but_for_commands(self):
        self.machine.gids()
        for line in doctor("--root", self.machine.root, "-v").stdout.splitlines()[1:-1]:
            if not line.startswith(("  mend", "  shown by", "ok ", "n/a ")):
                self.assertLessEqual(len(line), 80, line)

    def test_scripts_may_be_stricter(self):
        self.machine.write("/sys/class/net/ens1f0/mtu", "1500\n")
        for severity, status in (("broken", 0), ("warning", 0), ("note", 1), ("never", 0)):
            self.assertEqual(doctor("--root", self.machine.root, f"--fail-on={severity}").returncode, status, severity)
        self.machine.remove("/dev/infiniband/uverbs0")
        for severity, status in (("broken", 1), ("warning", 1), ("never", 0)):
            self.assertEqual(doctor("--root", self.machine.root, f"--fail-on={severity}").returncode, status, severity)


class Usage(TestCase):
    def test_what_cannot_be_obeyed(self):
        for arguments in (["--binarry", "x"], ["what"], ["--binary"], ["--binary", "x", "--compare", "y"], ["--color=red"],
                          ["--fail-on=always"], ["--bundle", "x", "--binary", "y"], ["--export="], ["--export", "x", "--bundle", "x"]):
            with self.subTest(arguments=arguments):
                self.assertIn("rdmascope help doctor", self.fails(doctor(*arguments), 2))
        self.assertIn("--root /no/such/folder", self.fails(doctor("--root", "/no/such/folder")))
        self.assertEqual(self.succeeds(run("help", "doctor")), self.succeeds(doctor("--help")))
        self.assertEqual(self.succeeds(doctor("--version")), self.succeeds(run("--version")))

    def test_manual_and_documentation_have_every_check(self):
        listing = re.findall(r"^(\S+) +(\w+) +([^(]+) \((.+)\)$", self.succeeds(doctor("--list")), re.MULTILINE)
        self.assertGreater(len(listing), 40)
        self.assertEqual(len({name for name, *_ in listing}), len(listing))
        manual = (ROOT / "docs/man/rdmascope-doctor.1").read_text().replace("\\-", "-")
        page = (ROOT / "docs/doctor.md").read_text()
        for name, worst, title, evidence in listing:
            self.assertIn(f"| `{name}` | {title} | {worst} | {evidence} |", page)
            self.assertIn(f".B {name}\n{title[0].upper()}{title[1:]}. Worst: {worst}.", manual)
        for name in re.findall(r"^\| `(\w+\.\w+)` \|", page, re.MULTILINE):
            self.assertIn(name, [row[0] for row in listing])


if __name__ == "__main__":
    unittest.main()
