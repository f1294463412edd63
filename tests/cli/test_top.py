"""`rdmascope top` on a terminal, as a user drives it: keys in, pictures out. The figures on the screen are held to what
`flows --json` prints of the same packets."""
import json
import os
import random
import re
import shlex
import signal
import subprocess
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, ROOT, TestCase, run
from endpoints import Serving, bench, capturing
from screen import Screen, alive, child, needs_tmux, processor_seconds, wait_for

SERVER = os.environ["RDMASCOPE_CONTROL_SERVER"]
LOSSY = PCAPS / "rxe-rxdrop1pct-write-bw.pcap.gz"
DEMO = PCAPS / "demo-loopback.pcap.gz"
RPING = PCAPS / "rxe-rping.pcap"
COUNTS = "id,packets,retransmitted_packets,messages.write.count"


def top(*arguments, **options):
    return run("top", *arguments, **options)


def flows_of(capture, *arguments):
    return json.loads(run("flows", "-n", "--json", "-r", capture, *arguments).stdout)["flows"]


def rows(picture):
    """The table of counts: id -> the cells behind it, as they stand."""
    found = {}
    for line in picture.splitlines():
        if match := re.match(r"^ ?!? +(\d+((?: +[\d.k]+)+)) *$", line):
            number, *cells = match[1].split()
            found[int(number)] = cells
    return found


def counted(flows):
    """The same from JSON; counts below 10,000 stand as they are."""
    return {flow["id"]: [str(flow["packets"]), str(flow["retransmitted_packets"]), str(flow["messages"]["write"]["count"])]
            for flow in flows}


def told(*arguments):
    """A command whose last words can be read when it has ended."""
    return ["sh", "-c", f"{shlex.join(map(str, [BINARY, 'top', *arguments]))}; echo status $?; exec sleep 600"]


class Usage(TestCase):
    def test_help_and_its_place_in_the_overview(self):
        self.assertIn("\n  top ", self.succeeds(run("help")))
        self.assertEqual(self.succeeds(run("help", "top")), self.succeeds(top("--help")))

    def test_without_a_terminal_it_says_what_to_do(self):
        message = self.fails(top("-r", RPING))
        for part in ("no terminal", "rdmascope flows", "rdmascope why", "--once"):
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


class Documentation(TestCase):
    def test_manual_and_completions_have_every_option(self):
        found = re.findall(r"^(?:  (-\S)(?:, (--\S+))?|      (--\S+))", top("--help").stdout, re.MULTILINE)
        self.assertGreater(len(found), 30)
        manual = set(re.findall(r"(?<![\w-])(--?[\w#][\w-]*)", (ROOT / "docs/man/rdmascope-top.1").read_text().replace("\\-", "-")))
        bash = (ROOT / "cli/completion/rdmascope.bash").read_text().split("_rdmascope_top()")[1].split("\n}")[0]
        zsh = (ROOT / "cli/completion/_rdmascope").read_text()
        fish = (ROOT / "cli/completion/rdmascope.fish").read_text()
        for letter, with_letter, alone in found:
            name = with_letter or alone
            with self.subTest(letter=letter, name=name):
                if letter:
                    self.assertIn(letter, manual)
                    self.assertRegex(bash, rf"[\s']{letter}[\s']")
                    self.assertRegex(zsh, rf"[{{'*]{letter}[+,\[]")
                    self.assertRegex(fish, rf"__rdmascope_(measuring|top)_option .*-s '?{letter[1]}'? ")
                if name:
                    self.assertIn(name, manual)
                    self.assertRegex(bash, rf"[\s']{name}[\s']")
                    self.assertRegex(zsh, rf"{name}[=\[}}]")
                    self.assertRegex(fish, rf"__rdmascope_(measuring|top)_option .*-l {name[2:]} ")


def shows_all_of(screen, capture, *arguments):
    """Waits for the figures of the whole file: its end is told a moment before them."""
    wanted = counted(flows_of(capture, *arguments))
    screen.shows(" END ", "since the start")
    wait_for(lambda: f"{wanted} in\n{screen.text()}", lambda: rows(screen.text()) == wanted)


class Once(TestCase):
    """One picture, without a terminal."""

    def picture(self, *arguments, **environment):
        variables = {**ENVIRONMENT, "XDG_CONFIG_HOME": str(self.folder), **environment}
        return self.succeeds(top("--once", *arguments, env=variables))

    def test_a_file_is_shown_as_a_whole(self):
        for capture in (LOSSY, DEMO, RPING):
            with self.subTest(capture=capture.name):
                picture = self.picture("-n", "-K", "-r", capture, "--columns", COUNTS, "--size", "120x40")
                self.assertEqual(rows(picture), counted(flows_of(capture, "-K")))

    def test_its_size(self):
        def size(picture):
            lines = picture.splitlines()
            return max(map(len, lines)), len(lines)

        self.assertEqual(size(self.picture("-r", LOSSY, "--size", "150x45"))[1], 45)
        self.assertLessEqual(size(self.picture("-r", LOSSY, "--size", "150x45"))[0], 150)
        self.assertEqual(size(self.picture("-r", LOSSY, COLUMNS="90", LINES="30"))[1], 30)
        self.assertLessEqual(size(self.picture("-r", LOSSY, COLUMNS="90", LINES="30"))[0], 90)
        for odd in ("1x1", "5x3", "300x100"):
            self.assertEqual(size(self.picture("-r", LOSSY, "--size", odd))[1], int(odd.split("x")[1]))

    def test_ascii_where_it_is_wanted_or_all_there_is(self):
        self.assertFalse(self.picture("-r", LOSSY).isascii())
        self.assertTrue(self.picture("-r", LOSSY, "--ascii").isascii())
        self.assertTrue(self.picture("-r", LOSSY, LC_ALL="C").isascii())

    def test_views_filters_and_order(self):
        self.assertIn("192.0.2.2", self.picture("-n", "-r", LOSSY, "--view", "hosts"))
        self.assertIn("RNR", self.picture("-n", "-r", PCAPS / "rxe-verbs-rnr.pcap", "--view", "events"))
        all_of_them = counted(flows_of(LOSSY))
        picture = self.picture("-n", "-r", LOSSY, "--columns", COUNTS, "--filter", "retransmitted_packets > 0")
        self.assertEqual(rows(picture), {flow: cells for flow, cells in all_of_them.items() if cells[1] != "0"})
        for sort, order in (("packets", -1), ("-packets", 1)):
            picture = self.picture("-n", "-r", LOSSY, "--columns", COUNTS, f"--sort={sort}")
            packets = [int(cells[0]) for cells in rows(picture).values()]
            self.assertEqual(packets, sorted(packets, key=lambda count: order * count))

    def test_it_stores_nothing(self):
        self.picture("-r", LOSSY, "--sort", "packets", "--theme", "light")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_stored_counts(self):
        (self.folder / "rdmascope").mkdir()
        (self.folder / "rdmascope/top.toml").write_text(f"columns = {COUNTS.split(',')}\n")
        self.assertEqual(rows(self.picture("-n", "-r", LOSSY)), counted(flows_of(LOSSY)))

    def test_a_damaged_file_is_shown_as_far_as_it_goes_and_told(self):
        damaged = self.folder / "damaged.pcap"
        damaged.write_bytes(RPING.read_bytes()[:-5])
        result = top("--once", "-n", "-r", damaged, env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(self.folder)})
        self.assertIn("damaged.pcap", self.fails(result))
        self.assertIn("FAILED", result.stdout)

    def test_a_capture_that_comes_through_a_pipe(self):
        with RPING.open("rb") as capture:
            result = top("--once", "-n", "-r", "-", "--columns", COUNTS, stdin=capture)
        self.assertEqual(rows(self.succeeds(result)), counted(flows_of(RPING)))


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
        picture = screen.shows("▼packets")
        self.assertEqual([int(cells[0]) for cells in rows(picture).values()], sorted((int(cells[0]) for cells in wanted.values()), reverse=True))
        screen.press("r")
        picture = screen.shows("▲packets")
        self.assertEqual([int(cells[0]) for cells in rows(picture).values()], sorted(int(cells[0]) for cells in wanted.values()))
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

    def test_from_the_sick_flow_to_the_reason_and_its_packets(self):
        screen = self.screen()
        screen.shows(" END ", "192.0.2.2/0x15")
        screen.press("g", "Enter")
        screen.shows("192.0.2.2/0x15", "Esc back")
        screen.press("e")
        answers = json.loads(run("why", "-n", "--json", "--flow", 43, "-r", LOSSY).stdout)["answers"]
        worst = next(answer for answer in answers if answer["alarm"])
        screen.shows(worst["summary"].split(",")[0].split(" (")[0][:40])
        screen.press("Escape", "5")
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
        first = rows(screen.text())
        screen.press(".")
        screen.shows("02:14:55")
        screen.press("t")
        later = rows(screen.shows("since the start"))
        self.assertGreater(sum(int(cells[0]) for cells in later.values()), sum(int(cells[0]) for cells in first.values()))
        screen.press("J")
        screen.type("+1h")
        screen.press("Enter")
        shows_all_of(screen, LOSSY)
        screen.press("J")
        screen.type("nowhere")
        screen.press("Enter")
        screen.shows("is wanted")
        screen.press("Escape", "q")
        self.assertEqual(screen.ended(), 0)

    def test_the_mouse(self):
        for term in ("screen-256color", "xterm-256color"):
            with self.subTest(term=term):
                self.use_the_mouse(self.screen("--columns", COUNTS, term=term))

    def use_the_mouse(self, screen):
        lines = screen.shows(" END ").splitlines()
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
        picture = screen.shows("saved as rdmascope-top-")
        name = re.search(r"rdmascope-top-\d{8}-\d{6}", picture)[0]
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
        (self.folder / "config/rdmascope").write_text("a file where a directory is wanted")
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


class Terminals(TestCase):
    """Kinds of terminals, character sets and colours."""

    def setUp(self):
        super().setUp()
        needs_tmux()

    def screen(self, *arguments, **options):
        return Screen(self, "top", "-n", "-r", LOSSY, "--speed", "max", *arguments, **options)

    def test_each_kind_shows_the_same(self):
        for term in ("xterm-256color", "xterm", "screen", "tmux-256color", "linux", "vt100"):
            for locale in ("C.UTF-8", "C"):
                with self.subTest(term=term, locale=locale):
                    screen = self.screen(term=term, locale=locale, width=80, height=24)
                    picture = screen.shows(" END ", "192.0.2.2/0x15", "goodput", "since the start")
                    self.assertEqual(picture.isascii(), locale == "C")
                    screen.press("Down", "End", "Home", "Enter")
                    screen.shows("Esc back")
                    screen.press("q")
                    self.assertEqual(screen.ended(), 0)
                    screen.close()

    def test_colours_are_those_of_the_terminal(self):
        many, few, any_color = r"\x1b\[[\d;]*[34]8;5;", r"\x1b\[[\d;]*[34][0-7]m", r"\x1b\[(\d+;)*[34][0-8][;m]"
        for options, wanted, unwanted in (({"term": "xterm-256color"}, many, None), ({"term": "screen"}, few, many),
                                          ({"term": "vt100"}, r"\x1b\[[\d;]*7m", any_color),
                                          ({"environment": {"NO_COLOR": "1"}}, r"\x1b\[[\d;]*7m", any_color)):
            with self.subTest(options=options):
                screen = self.screen(**options)
                screen.shows(" END ")
                self.assertRegex(screen.styled(), wanted)
                if unwanted:
                    self.assertNotRegex(screen.styled(), unwanted)

    def test_ascii_and_no_colour_by_option(self):
        screen = self.screen("--ascii", "--no-color")
        self.assertTrue(screen.shows(" END ").isascii())
        self.assertNotRegex(screen.styled(), r"\x1b\[[\d;]*[34]8;5;")

    def test_sizes(self):
        for width, height in ((80, 24), (300, 100), (40, 10), (10, 3)):
            with self.subTest(width=width, height=height):
                screen = self.screen(width=width, height=height)
                screen.shows("rdmascope" if height > 5 else "0")
                self.assertEqual(len(screen.lines()), height)
                screen.press("q")
                self.assertEqual(screen.ended(), 0)

    def test_a_resize_storm(self):
        screen = self.screen()
        screen.shows(" END ")
        for width, height in [(40 + 13 * step % 260, 8 + 7 * step % 90) for step in range(60)]:
            screen.resize(width, height)
        screen.resize(100, 30)
        wait_for("a picture of the last size", lambda: screen.lines()[0].startswith(" rdmascope  file") and len(screen.lines()[0]) > 90
                 and "? help" in screen.lines()[29])
        screen.shows("192.0.2.2/0x15", "since the start")
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_garbage_from_the_keyboard(self):
        screen = self.screen()
        screen.shows(" END ")
        chance = random.Random(6)
        letters = [octet for octet in range(1, 256) if octet not in b"qS\x03\x1a"]  # neither ends, stops nor saves
        garbage = bytearray()
        for _ in range(3000):
            garbage += bytes(chance.choices(letters, k=chance.randrange(1, 6)))
            garbage += chance.choice([b"\x1b[", b"\x1b[M \xff!", b"\x1b[<0;9;9M", b"\x1bO", b"\x1b[200~", b"\x1b[1;5", b"\xf0\x9f", b"\x1b"])
        screen.paste(bytes(garbage))
        screen.has_read_all()
        screen.press("Escape")
        screen.press("C-l")
        # Whatever it has come to: out of every overlay, and it still obeys.
        wait_for("the help", lambda: (screen.press("Escape", "1", "?"), "Keys" in screen.text())[1])
        screen.press("Escape")
        wait_for("the help's end", lambda: "Keys" not in screen.text())
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_a_long_paste_into_the_filter(self):
        screen = self.screen()
        screen.shows(" END ")
        screen.press("/")
        screen.paste(b"lorem ipsum " * 10000)
        screen.press("Escape")
        screen.shows("192.0.2.2/0x15")
        screen.press("q")
        self.assertEqual(screen.ended(), 0)


class Ends(TestCase):
    """However it ends, the terminal is as it was, and the program does not linger."""

    def setUp(self):
        super().setUp()
        needs_tmux()

    def shell(self):
        """A shell in a terminal, to which the program gives the terminal back."""
        screen = Screen(self, command=["bash", "--norc", "--noprofile", "-i"])
        screen.shows("ready>")
        return screen

    def started(self, screen, *arguments):
        screen.type(f"{BINARY} top -n -r {LOSSY} --speed max {' '.join(arguments)}\n")
        screen.shows(" END ", "goodput")
        return child(screen.process())

    def terminal_is_as_it_was(self, screen):
        wait_for("the normal screen", lambda: screen.property("alternate_on") == "0")
        screen.type("echo status $?; stty -a | grep -oE -- '-?(icanon|echo|isig|ixon)\\b'\n")
        wait_for("the settings of the terminal", lambda: re.search(r"(?m)^-?ixon$", screen.text()))
        picture = screen.text()
        self.assertNotRegex(picture, r"(?m)^-(icanon|echo|isig)$")
        self.assertEqual(screen.property("cursor_flag"), "1")
        self.assertEqual(screen.property("mouse_any_flag"), "0")
        return int(re.findall(r"(?m)^status (\d+)", picture)[-1])

    def test_keys_and_signals(self):
        for how in ("q", "C-c", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(how=how):
                screen = self.shell()
                process = self.started(screen)
                self.assertEqual(screen.property("alternate_on"), "1")
                self.assertEqual(screen.property("mouse_any_flag"), "1")
                if isinstance(how, signal.Signals):
                    os.kill(process, how)
                else:
                    screen.press(how)
                self.assertEqual(self.terminal_is_as_it_was(screen), 0)
                screen.close()

    def test_a_fault_gives_the_terminal_back_too(self):
        for number in (signal.SIGABRT, signal.SIGSEGV):
            screen = self.shell()
            process = self.started(screen)
            os.kill(process, number)
            self.assertEqual(self.terminal_is_as_it_was(screen), 128 + number)
            screen.close()

    def test_suspended_and_back(self):
        screen = self.shell()
        process = self.started(screen)
        for stop in ("key", "signal"):
            if stop == "key":
                screen.press("C-z")
            else:
                os.kill(process, signal.SIGTSTP)
            screen.shows("Stopped")
            self.assertNotEqual(self.terminal_is_as_it_was(screen), 0)  # bash: 128 + SIGTSTP
            screen.type("clear; fg\n")
            screen.shows(" END ", "goodput")
            self.assertEqual(screen.property("mouse_any_flag"), "1")
        screen.press("q")
        self.assertEqual(self.terminal_is_as_it_was(screen), 0)

    def test_stopped_by_force_it_draws_itself_anew(self):
        screen = self.shell()
        process = self.started(screen)
        os.kill(process, signal.SIGSTOP)
        screen.shows("Stopped")
        screen.type("fg\n")
        screen.hides("Stopped")
        screen.shows(" END ", "goodput")
        screen.press("q")
        self.assertEqual(self.terminal_is_as_it_was(screen), 0)

    def test_the_terminal_goes_away(self):
        screen = Screen(self, "top", "-n", "-r", LOSSY, "--speed", "max")
        screen.shows(" END ")
        process = screen.process()
        screen.tmux("kill-pane")
        wait_for("the end of the process", lambda: not alive(process))

    def test_the_terminal_goes_away_and_nobody_says_so(self):
        """Where SIGHUP is ignored, as below nohup(1): the end of the terminal is found out, and costs nothing."""
        told = self.folder / "told"
        screen = Screen(self, command=["bash", "-c", f"trap '' HUP; {BINARY} top -n -r {LOSSY} --speed max 2> {self.folder}/error; "
                                                     f"echo $? > {told}.new; times >> {told}.new; mv {told}.new {told}"])
        screen.shows(" END ")
        before = processor_seconds(child(screen.process()))
        screen.tmux("kill-server", check=False)
        wait_for("the end of the program", told.exists)
        status, _, children = told.read_text().splitlines()
        self.assertEqual(status, "1")
        self.assertEqual((self.folder / "error").read_text(), "")
        used = sum(int(minutes) * 60 + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", children))
        self.assertLess(used - before, 1)

    def test_idle_it_costs_nothing(self):
        screen = Screen(self, "top", "-n", "-r", LOSSY, "--speed", "max")
        screen.shows(" END ")
        process = screen.process()
        before = processor_seconds(process)
        subprocess.run(["sleep", "2"], check=True)  # a stretch of time is what is measured
        self.assertLess(processor_seconds(process) - before, 0.1)



@unittest.skipUnless(capturing(), "capturing is not permitted here: nothing is shown as it passes")
class Live(TestCase):
    """The loopback interface, and traffic on it."""

    def setUp(self):
        super().setUp()
        needs_tmux()

    def test_the_demo(self):
        screen = Screen(self, "demo", "-n", height=100)
        screen.shows("live lo", "10/10 flows", "the answers")
        picture = screen.text()
        self.assertEqual(len(re.findall(r"127\.0\.0\.1\.\d+ → 127\.0\.0\.1\.\d+", picture)), 10)
        clock = picture.splitlines()[0]
        wait_for("the next interval", lambda: screen.lines()[0] != clock)
        screen.press("q")
        self.assertEqual(screen.ended(), 0)
        page = screen.text()
        self.assertIn("What that means", page)
        if "the kernel dropped" not in page:
            self.assertIn("They agree.", page)
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
        wait_for("the figures", lambda: rows(screen.text()) == counted(flows_of(LOSSY)))
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_gone_and_come_back(self):
        end = self.start()
        screen = Screen(self, "top", "-n", f"--connect={self.socket}", "--interval", "200ms", "--columns", COUNTS)
        screen.press("t")
        wait_for("the figures", lambda: rows(screen.text()) == counted(flows_of(LOSSY)))
        end()
        screen.shows("LOST")
        self.assertEqual(rows(screen.text()), counted(flows_of(LOSSY)), "what was known is still there to be read")
        screen.press("2", "1")
        self.start(RPING)
        screen.hides("LOST")
        wait_for("the figures of the new one", lambda: rows(screen.text()) == counted(flows_of(RPING)))
        screen.press("q")
        self.assertEqual(screen.ended(), 0)

    def test_once(self):
        self.start()
        picture = self.succeeds(top("--once", "-n", f"--connect={self.socket}", "--interval", "200ms"))
        self.assertIn("daemon", picture)
        self.assertIn("packets/s", picture)


if __name__ == "__main__":
    unittest.main()
