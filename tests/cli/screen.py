"""A terminal for the tests of `rdmascope top`: tmux with a server of its own, whose pane runs the program."""
import collections
import fcntl
import itertools
import os
import pathlib
import shlex
import shutil
import subprocess
import termios
import time
import unittest

from command import BINARY, ENVIRONMENT

PATIENCE_SECONDS = 60  # the machine may be busy; nothing waits longer than it has to
POLL_SECONDS = 0.02
numbers = itertools.count()


def needs_tmux():
    if not shutil.which("tmux"):
        raise unittest.SkipTest("tmux is not installed")


def wait_for(what, condition):
    """The condition's value, as soon as it is true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what() if callable(what) else what} did not come about")
        time.sleep(POLL_SECONDS)


class Screen:
    """Runs `rdmascope ARGUMENTS`, or another `command`, in a terminal until the test ends. Its configuration is in
    `test.folder`, which is where it stands."""

    def __init__(self, test, *arguments, command=None, width=120, height=36, term="screen-256color", locale="C.UTF-8",
                 environment=None):
        self.folder, self.term = test.folder, term
        number = next(numbers)
        self.socket = self.folder / f"tmux-{number}"
        configuration = self.folder / "tmux.conf"
        configuration.write_text("set -g status off\nset -g remain-on-exit on\nset -sg escape-time 0\nset -g mouse on\n")
        inside = {"TERM": term, "LC_ALL": locale, "XDG_CONFIG_HOME": str(self.folder / "config"), "PS1": "ready> ", **(environment or {})}
        words = ["env", "-u", "NO_COLOR", "-u", "LINES", "-u", "COLUMNS", *(f"{name}={value}" for name, value in inside.items()),
                 *(command or [BINARY, *map(str, arguments)])]
        # tmux 3.3 does not always learn how a program has ended: a shell writes it down.
        self.status = self.folder / f"status-{number}"
        words = ["sh", "-c", '"$@"; echo $? > "$0.new"; mv "$0.new" "$0"', self.status, *words]
        test.addCleanup(self.close)
        self.tmux("-f", configuration, "new-session", "-d", "-x", width, "-y", height, shlex.join(map(str, words)))

    def tmux(self, *arguments, check=True):
        done = subprocess.run(["tmux", "-u", "-S", str(self.socket), *map(str, arguments)], capture_output=True, text=True,
                              check=False, cwd=self.folder, timeout=PATIENCE_SECONDS, env={**ENVIRONMENT, "TERM": "xterm"})
        if check and done.returncode != 0:
            raise AssertionError(f"tmux {arguments}: {done.stderr}")
        return done.stdout

    def close(self):
        """What runs there ends, and has written what it had to."""
        pane = self.tmux("display-message", "-p", "#{pane_pid}", check=False).strip()
        left = [int(pane), *children(pane)] if pane else []
        self.tmux("kill-server", check=False)
        wait_for("the end of what runs in the terminal", lambda: not any(map(alive, left)))

    # What is seen.

    def text(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.text().splitlines()

    def styled(self):
        """With the escape sequences of colours."""
        return self.tmux("capture-pane", "-p", "-e")

    def property(self, name):
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def shows(self, *parts):
        """Waits until all parts are to be seen at once; returns the picture."""
        seen = ""

        def there():
            nonlocal seen
            seen = self.text()
            return all(part in seen for part in parts)

        wait_for(lambda: f"{parts} in\n{seen}", there)
        return seen

    def hides(self, part):
        seen = ""

        def gone():
            nonlocal seen
            seen = self.text()
            return part not in seen

        wait_for(lambda: f"the end of {part!r} in\n{seen}", gone)
        return seen

    # What is done.

    def press(self, *keys):
        """Keys by tmux' names: Enter, Escape, Up, PPage, BTab, C-z, or letters."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def paste(self, octets):
        file = self.folder / "paste"
        file.write_bytes(octets)
        self.tmux("load-buffer", file)
        self.tmux("paste-buffer", "-r")

    def has_read_all(self):
        """Waits until the program has taken what was typed: nothing waits in the terminal, nor comes from tmux, which has
        more than a terminal holds."""
        line = os.open(self.property("pane_tty"), os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            unread = bytearray(4)
            looks = collections.deque([True] * 10, maxlen=10)

            def is_quiet():
                fcntl.ioctl(line, termios.FIONREAD, unread)
                looks.append(any(unread))
                return not any(looks)

            wait_for("the end of what was typed", is_quiet)
        finally:
            os.close(line)

    def click(self, x, y, times=1):
        """Presses and releases, in the form that the terminal's description has: SGR's, or the old one."""
        if self.term.startswith("xterm"):
            self.type(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m" * times)
        else:
            self.type(f"\x1b[M {chr(33 + x)}{chr(33 + y)}\x1b[M#{chr(33 + x)}{chr(33 + y)}" * times)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", width, "-y", height)

    # How it ends.

    def process(self):
        """That of the program."""
        return child(int(self.property("pane_pid")))

    def ended(self):
        """Waits for the end; returns the exit status."""
        wait_for(lambda: f"the end of the program, which shows\n{self.text()}", self.status.exists)
        return int(self.status.read_text())


def children(process):
    return [int(word) for word in subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True, check=False).stdout.split()]


def child(process):
    return children(process)[-1]


def alive(process):
    """False where it is gone, or dead and not yet waited for."""
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
