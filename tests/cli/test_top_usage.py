"""`rdmascope top`: what it cannot obey or show."""
import unittest

from command import TestCase, run
from figures import RPING, told, top
from screen import Screen, needs_tmux


class Usage(TestCase):
    def test_help_and_its_place_in_the_overview(self):
        self.assertIn("\n  top ", self.succeeds(run("help")))
        self.assertEqual(self.succeeds(run("help", "top")), self.succeeds(top("--help")))

    def test_without_a_terminal_it_says_what_to_do(self):
        message = self.fails(top("-r", RPING))
        for part in ("not a terminal", "rdmascope flows", "rdmascope why", "--once"):
            self.assertIn(part, message)

    def test_without_a_source_the_choices_are_named(self):
        message = self.fails(top("--once"), 2)
        for part in ("-r FILE", "-i IFACE", "--history", "--connect"):
            self.assertIn(part, message)

    def test_what_cannot_be_obeyed(self):
        for arguments in (["--no-such"], ["--speed", "2", "-i", "lo"], ["--sort", "nothing"], ["--view", "flow"], ["--size", "1"],
                          ["--filter", "goodput >"], ["--interval", "1ms"], ["-r", RPING, "-i", "lo"]):
            source = [] if "-i" in arguments else ["-r", RPING]
            with self.subTest(arguments=arguments):
                self.assertIn("rdmascope help top", self.fails(top(*source, "--once", *arguments), 2))

    def test_a_group_of_columns_is_none(self):
        message = self.fails(top("--once", "-r", RPING, "--columns", "latency_ns.write"), 2)
        self.assertIn("a group of columns; one column is expected, such as latency_ns.write.", message)
        self.assertIn("did you mean 'packets'?", self.fails(top("--once", "-r", RPING, "--columns", "packet"), 2))

    def test_sources_that_are_none(self):
        self.assertIn("No such file", self.fails(top("--once", "-r", self.folder / "none.pcap")))
        self.assertIn("no such interface", self.fails(top("--once", "-i", "no-such0")))
        self.assertIn(str(self.folder), self.fails(top("--once", f"--connect={self.folder}/sock")))
        self.assertIn(str(self.folder), self.fails(top("--once", "--history", self.folder / "none")))

    def test_errors_leave_a_terminal_alone(self):
        needs_tmux()
        for arguments, part in ((["-r", "none.pcap"], "No such file"), (["-i", "no-such0"], "no such interface"),
                                (["--no-such"], "rdmascope help top")):
            screen = Screen(self, command=told(*arguments))
            self.assertRegex(screen.shows(part, "status"), "status [12]")
            self.assertEqual(screen.property("alternate_on"), "0")

    def test_a_terminal_that_is_none(self):
        needs_tmux()
        for term, part in (("dumb", "cannot place its cursor"), ("no-such-terminal", "no such terminal")):
            screen = Screen(self, command=told("-r", RPING), term=term, width=200)
            screen.shows(part, "--once", "status 1")


if __name__ == "__main__":
    unittest.main()
