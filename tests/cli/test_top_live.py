"""`rdmascope top` of what passes now: on an interface, and as a daemon tells it."""
import json
import os
import re
import subprocess
import unittest

from command import TestCase
from endpoints import Serving, bench, capturing
from figures import COUNTS, LOSSY, RPING, counted, flows_of, rows, shows_rows, top
from screen import Screen, needs_tmux, wait_for

SERVER = os.environ["RDMASCOPE_CONTROL_SERVER"]


@unittest.skipUnless(capturing(), "capturing is not permitted here: nothing is shown as it passes")
class Live(TestCase):
    """The loopback interface, and traffic on it."""

    def setUp(self):
        super().setUp()
        needs_tmux()

    def test_the_demo(self):
        screen = Screen(self, "demo", "-n", height=100)
        screen.shows("live lo", "10/10 flows", "the answers")
        wait_for(lambda: f"ten flows in\n{screen.text()}", lambda: len(re.findall(r"127\.0\.0\.1\.\d+ [→←] 127\.0\.0\.1\.\d+", screen.text())) == 10)
        clock = screen.lines()[0]
        wait_for("the next interval", lambda: screen.lines()[0] != clock)
        screen.press("q")
        self.assertEqual(screen.ended(), 0)
        screen.shows("What that means")
        wait_for(lambda: f"the comparison in\n{screen.text()}", lambda: re.search(r"the kernel dropped|They agree\.", screen.text()))
        self.assertEqual(screen.property("alternate_on"), "0")

    def test_messages_are_counted_as_the_endpoints_count_them(self):
        with Serving() as server:
            screen = Screen(self, "top", "-n", "-i", "lo", "--interval", "200ms", "--columns",
                            "id,packets,messages.write.count,messages.send.count", "tcp", "port", server.port)
            screen.shows("live lo", "drops 0")
            sent = json.loads(bench("write", server.address, "--count", 500, "--size", "4K", "--json").stdout)
            screen.press("t")
            wait_for(lambda: f"the Writes in\n{screen.text()}", lambda: any(cells[1] == str(sent["messages"]["write"]["count"]) for cells in rows(screen.text()).values()))
            screen.press("q")
            self.assertEqual(screen.ended(), 0)


class OnADaemon(TestCase):
    """A daemon that answers for a capture, without capturing."""

    def setUp(self):
        super().setUp()
        needs_tmux()
        self.socket = self.folder / "control.sock"

    def start(self, capture=LOSSY):
        process = subprocess.Popen([SERVER, capture, self.socket], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")

        def end():
            process.terminate()
            process.wait(60)
            process.stdout.close()

        self.addCleanup(end)
        return end

    def test_the_figures_are_those_of_flows(self):
        self.start()
        screen = Screen(self, "top", "-n", f"--connect={self.socket}", "--interval", "200ms", "--columns", COUNTS)
        screen.shows("daemon", "control.sock", "last ")
        screen.press("t")
        screen.shows("since the start")
        shows_rows(screen, counted(flows_of(LOSSY)))
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_gone_and_come_back(self):
        end = self.start()
        screen = Screen(self, "top", "-n", f"--connect={self.socket}", "--interval", "200ms", "--columns", COUNTS)
        screen.press("t")
        shows_rows(screen, counted(flows_of(LOSSY)))
        end()
        screen.shows("LOST")
        shows_rows(screen, counted(flows_of(LOSSY)))  # what was known is still there to be read
        screen.press("2", "1")
        self.start(RPING)
        screen.hides("LOST")
        shows_rows(screen, counted(flows_of(RPING)))
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_once(self):
        self.start()
        picture = self.succeeds(top("--once", "-n", f"--connect={self.socket}", "--interval", "200ms"))
        self.assertIn("daemon", picture)
        self.assertIn("packets/s", picture)


if __name__ == "__main__":
    unittest.main()
