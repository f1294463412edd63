"""`rdmascope demo`: live where capturing is permitted, from the capture that the program carries where it is not."""
import json
import os
import re
import unittest

from command import PCAPS, TestCase, run, run_unprivileged
from endpoints import capturing

RECORDED = PCAPS / "demo-loopback.pcap.gz"
OPERATIONS = ("send", "write", "read", "fetch_add")


def totals(flows):
    """Operation -> messages and octets of all flows."""
    return {name: (sum(flow["messages"][name]["count"] for flow in flows), sum(flow["messages"][name]["bytes"] for flow in flows))
            for name in OPERATIONS}


def compared(page):
    """Operation -> what the endpoints counted, what the capture shows, as the page has it."""
    found = {}
    for name, *numbers in re.findall(r"^(\w+) +(\d+) +(\d+) bytes +(\d+) +(\d+) bytes$", page, re.MULTILINE):
        numbers = list(map(int, numbers))
        found[name] = tuple(numbers[:2]), tuple(numbers[2:])
    return found


class Demo(TestCase):
    def test_usage(self):
        for arguments in (["--recordet"], ["what"], ["--recorded", "--save", "x"], ["--save"]):
            with self.subTest(arguments=arguments):
                self.assertIn("rdmascope demo", self.fails(run("demo", *arguments), 2))
        self.assertIn("did you mean '--recorded'?", run("demo", "--recordet").stderr)
        self.assertEqual(self.succeeds(run("help", "demo")), self.succeeds(run("demo", "--help")))

    def test_what_the_program_carries(self):
        page = self.succeeds(run("demo", "--recorded", "-n"))
        self.assertEqual(len(re.findall(r"^ *\d+ +iwarp ", page, re.MULTILINE)), 10)
        self.assertIn("● bandwidth: receive_window", page)
        self.assertRegex(page, r"WRONG \([^)]*\): The TCP receive window is full")
        self.assertIn("What that means", page)
        # The same as the other commands show of the same file.
        answers = self.succeeds(run("why", "-n", "-K", "-r", RECORDED))
        self.assertIn(answers.split("\n\n")[0], page)

    def test_the_carried_capture_holds_what_the_endpoints_counted(self):
        truth = json.loads((PCAPS / "demo-loopback.json").read_text())
        flows = json.loads(self.succeeds(run("flows", "-K", "--json", "-r", RECORDED)))["flows"]
        wanted = {name: (figures["count"], figures["bytes"]) for name, figures in truth["messages"].items()}
        self.assertEqual(totals(flows), wanted)

    def test_without_the_right_to_capture(self):
        if os.getuid() != 0:
            self.skipTest("only root can become somebody else")
        result = run_unprivileged("demo", "-n")
        page = self.succeeds(result)
        self.assertIn("setcap cap_net_raw+ep /", result.stderr)
        self.assertIn("sudo", result.stderr)
        self.assertEqual(page, run("demo", "--recorded", "-n").stdout)

    def test_nothing_is_saved_without_the_right_to_capture(self):
        if os.getuid() != 0:
            self.skipTest("only root can become somebody else")
        saved = self.folder / "demo.pcapng"
        error = self.fails(run_unprivileged("demo", "-n", "--save", saved))
        self.assertIn(f"rdmascope demo: {saved}: nothing is saved", error)
        self.assertFalse(saved.exists())

    @unittest.skipUnless(capturing(), "capturing is not permitted here: the live demo is not tested")
    def test_live(self):
        saved = self.folder / "demo.pcapng"
        page = self.succeeds(run("demo", "-n", "--save", saved))
        if "the kernel dropped" in page:
            self.skipTest("the kernel dropped frames: this machine is too busy")
        self.assertIn("They agree.", page)
        both = compared(page)
        self.assertEqual(set(both), set(OPERATIONS))
        # What the clients do is told in front: 200 atomics a second for three seconds, 800 Writes and those at a rate.
        self.assertEqual(both["fetch_add"][0], (600, 4800))
        self.assertGreater(both["write"][0][0], 800)
        self.assertEqual(both["write"][0][1], both["write"][0][0] * (32 << 10))
        flows = json.loads(self.succeeds(run("flows", "-n", "--json", "-r", saved)))["flows"]
        self.assertEqual(totals(flows), {name: counted for name, (counted, seen) in both.items()})
        self.assertEqual(sum(flow["crc_bad"] + flow["terminates"] for flow in flows), 0)
        answers = json.loads(self.succeeds(run("why", "-n", "--json", "-r", saved)))["answers"]
        self.assertEqual({answer["question"] for answer in answers},
                         {"bandwidth", "latency", "qp_cache", "congestion", "queue_depth"})


if __name__ == "__main__":
    unittest.main()
