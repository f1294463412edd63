"""`rdmascope top -r` on a terminal, as a user drives it: keys in, pictures out. The figures on the screen are held to what
`flows --json` prints of the same packets."""
import json
import re
import unittest

from command import BINARY, TestCase, run
from figures import COUNTS, DEMO, LOSSY, RPING, counted, flows_of, packets_of, rows, shows_all_of, shows_packets, told
from screen import Screen, needs_tmux, wait_for


class OnACapture(TestCase):
    """The screen of a file that is played back."""

    def setUp(self):
        super().setUp()
        needs_tmux()

    def screen(self, *arguments, capture=LOSSY, **options):
        return Screen(self, "top", "-n", "-r", capture, "--speed", "max", *arguments, **options)

    def test_the_figures_are_those_of_flows(self):
        for capture in (LOSSY, DEMO):
            with self.subTest(capture=capture.name):
                screen = self.screen("-K", "--columns", COUNTS, capture=capture)
                shows_all_of(screen, capture, "-K")
                screen.press("q")
                self.assertEqual(screen.ended(), 0)

    def test_sort_filter_and_group(self):
        screen = self.screen("--columns", COUNTS)
        wanted = counted(flows_of(LOSSY))
        shows_all_of(screen, LOSSY)
        screen.press("s")
        screen.type("packets")
        screen.press("Enter")
        screen.shows("▼packets")
        packets = sorted(int(cells[0]) for cells in wanted.values())
        shows_packets(screen, *reversed(packets))
        screen.press("r")
        screen.shows("▲packets")
        shows_packets(screen, *packets)
        screen.press("/")
        screen.type("retransmitted_packets > 0")
        wait_for("the filter", lambda: set(rows(screen.text())) == {flow for flow, cells in wanted.items() if cells[1] != "0"})
        screen.press("Enter")
        screen.shows("3 of 4 flows hidden")
        screen.press("Escape")
        screen.hides("3 of 4 flows hidden")
        wait_for("all flows", lambda: set(rows(screen.text())) == set(wanted))
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_from_the_flow_with_a_problem_to_the_reason_and_its_packets(self):
        screen = self.screen()
        screen.shows(" END ", "192.0.2.2/0x15")
        screen.press("g", "Enter")
        screen.shows("192.0.2.2/0x15", "Esc back")
        screen.press("e")
        answers = json.loads(run("why", "-n", "--json", "--flow", 43, "-r", LOSSY).stdout)["answers"]
        worst = next(answer for answer in answers if answer["alarm"])
        screen.shows(worst["summary"].split(",")[0].split(" (")[0][:40])
        screen.press("Enter")
        screen.shows(f"all fields of frame {min(frame for one in worst['evidence'] for frame in one['frames'])}")
        screen.press("Escape", "1", "Enter", "5")
        screen.shows("packets of this flow", "infiniband.bth.destqp == ")
        screen.press("Escape")
        last = self.succeeds(run("dump", "-n", "-r", LOSSY)).splitlines()[-1].split()
        screen.shows(" ".join(last[1:4]))
        screen.press("Enter")
        screen.shows("all fields of frame 1766")
        screen.press("NPage", "NPage")
        screen.shows("Base Transport Header")
        screen.press("Escape", "?")
        screen.shows("Keys")
        screen.press("q", "q")
        self.assertEqual(screen.ended(), 0)

    def test_every_view_has_its_digit(self):
        screen = self.screen()
        screen.shows(" END ")
        for digit, part in (("2", "192.0.2.1"), ("4", "NAK"), ("6", "counters"), ("3", "congestion"), ("1", "goodput")):
            screen.press(digit)
            screen.shows(part)
        for key in ("Tab", "BTab"):
            screen.press(key)
        screen.shows("goodput")

    def test_pause_step_and_jump(self):
        screen = Screen(self, "top", "-n", "-r", LOSSY, "--paused", "--interval", "1s", "--columns", COUNTS)
        screen.shows("PAUSED")
        screen.press(".")
        screen.shows("02:14:54")
        first = sum(packets_of(screen))
        screen.press(".")
        screen.shows("02:14:55")
        screen.press("t")
        screen.shows("since the start")
        wait_for("more packets in two seconds than in one", lambda: sum(packets_of(screen)) > first)
        screen.press("J")
        screen.type("+1h")
        screen.press("Enter")
        shows_all_of(screen, LOSSY)
        screen.press("J")
        screen.type("nowhere")
        screen.press("Enter")
        screen.shows("is expected")
        screen.press("Escape", "q")
        self.assertEqual(screen.ended(), 0)

    def test_the_mouse(self):
        for term in ("screen-256color", "xterm-256color"):
            with self.subTest(term=term):
                self.use_the_mouse(self.screen("--columns", COUNTS, term=term))

    def use_the_mouse(self, screen):
        lines = screen.shows(" END ", "resent", "2 hosts").splitlines()
        heading = next(number for number, line in enumerate(lines) if "packets  " in line and "resent" in line)
        screen.click(lines[heading].index("packets"), heading)
        screen.shows("▼packets")
        screen.click(lines[heading].index("packets"), heading)
        screen.shows("▲packets")
        screen.click(5, heading + 2)
        screen.shows("2 of 4")
        screen.click(5, heading + 2, times=2)
        screen.shows("Esc back")
        screen.press("1")
        screen.shows("▲packets")
        tabs = next(number for number, line in enumerate(lines) if "2 hosts" in line)
        screen.click(lines[tabs].index("hosts"), tabs)
        screen.hides("▲packets")

    def test_what_is_saved_is_what_flows_prints(self):
        screen = self.screen("--columns", COUNTS)
        shows_all_of(screen, LOSSY)
        screen.press("S")
        name = wait_for("a name", lambda: re.search(r"saved as (rdmascope-top-\d{8}-\d{6})", screen.text()))[1]
        saved = json.loads((self.folder / f"{name}.json").read_text())
        self.assertEqual(saved, json.loads(run("flows", "-n", "--json", "-r", LOSSY).stdout))
        text = (self.folder / f"{name}.txt").read_text()
        self.assertEqual(rows(text), counted(flows_of(LOSSY)))
        self.assertEqual(len(text.splitlines()), 36)

    def test_saving_where_nothing_can_be_written_is_told(self):
        screen = Screen(self, command=["sh", "-c", f"cd /proc && exec {BINARY} top -n -r {LOSSY} --speed max"])
        screen.shows(" END ")
        screen.press("S")
        screen.shows("cannot save in /proc: ")
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_what_was_chosen_is_found_again(self):
        settings = self.folder / "config/rdmascope/top.toml"
        screen = self.screen("--sort", "packets", "--columns", COUNTS)
        screen.shows(" END ")
        screen.press("N", "u")
        screen.type("transport")
        screen.press("Enter")
        screen.shows("roce2")
        screen.press("q")
        self.assertEqual(screen.ended(), 0)
        stored = settings.read_text()
        self.assertIn("transport", stored)
        for option in ("sort", "columns"):  # of the command line, and not changed
            self.assertNotRegex(stored, rf"(?m)^{option}")
        again = self.screen()
        again.shows(" END ", "roce2")
        again.press("q")
        self.assertEqual(again.ended(), 0)

    def test_settings_that_cannot_be_understood_or_stored(self):
        (self.folder / "config").mkdir()
        (self.folder / "config/rdmascope").write_text("a file where a directory is expected")
        screen = Screen(self, command=told("-n", "-r", LOSSY, "--speed", "max"))
        screen.shows(" END ")
        screen.press("N", "q")
        screen.shows("settings are not stored", "Not a directory", "status 0")
        (self.folder / "config/rdmascope").unlink()
        (self.folder / "config/rdmascope").mkdir()
        (self.folder / "config/rdmascope/top.toml").write_text("theme = 'dark'\n")
        screen = Screen(self, "top", "-n", "-r", LOSSY, "--paused")
        screen.shows("line 1: theme: ")

    def test_a_capture_by_standard_input_leaves_the_keyboard_to_the_terminal(self):
        screen = Screen(self, command=["sh", "-c", f"cat {RPING} | {BINARY} top -n -r - --speed max --columns {COUNTS}"])
        shows_all_of(screen, RPING)
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_two_at_once(self):
        screens = [self.screen("-K", "--columns", COUNTS, capture=capture) for capture in (LOSSY, DEMO)]
        for screen, capture in zip(screens, (LOSSY, DEMO)):
            shows_all_of(screen, capture, "-K")
        for screen in screens:
            screen.press("q")
            self.assertEqual(screen.ended(), 0)


if __name__ == "__main__":
    unittest.main()
