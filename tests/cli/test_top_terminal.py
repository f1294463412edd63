"""`rdmascope top` and its terminal: kinds, sizes and colours, what comes from a keyboard, and how the program ends."""
import os
import random
import re
import signal
import subprocess
import unittest

from command import BINARY, TestCase
from figures import LOSSY
from screen import Screen, alive, child, needs_tmux, processor_seconds, wait_for


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
                screen.shows(" END ", "goodput", "192.0.2.2/0x15")
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


if __name__ == "__main__":
    unittest.main()
