"""Runs the commands of docs/guide as a reader does, and compares their output with the page.

A block of ```console``` is one sequence in three terminals, which the prompts name: server$, client$ and watch$. The lines after a
command are its output. Commands of the server, and those with sudo, stay in the background: a prompt without a command shows what
came later, and ^C ends the program. `...` stands for any text. Numbers that differ from run to run are compared by shape: times,
rates, percentages, keys, addresses, the client's port. Standard error may come between the lines of standard output anywhere.

Each chapter has a network namespace and a folder of its own, so the chapters run at the same time."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/guide").glob("[0-9]*.md"))
PATIENCE = 60  # seconds; the machine may be busy
SKIPPED = 77

# What differs from run to run, and what it becomes on both sides.
SHAPES = [(re.compile(pattern), shape) for pattern, shape in (
    (r"\d\d:\d\d:\d\d\.\d{6}", "CLOCK"),
    (r"\b(rkey|stag|to|at) 0x[0-9a-f]+", r"\1 HEX"),
    (r"127\.0\.0\.1\.\d{5}\b", "127.0.0.1.PORT"),
    (r"\(port \d{5}\)", "(port PORT)"),
    (r"<?\b\d[\d,.]* ?(?:ns|us|ms|s)\b", "TIME"),
    (r"\b\d[\d,.]* ?(?:[kMG]?bit/s|messages/s)", "RATE"),
    (r"<?\b\d[\d,.]* ?%", "SHARE"),
    (r"\b\d[\d,.]* (?:B|KiB|MiB)\b|\b\d[\d,.]*(?:KiB|MiB)\b", "SIZE"),
    (r"\btime \d{9,}", "time NUMBER"),
    (r"process \d+", "process NUMBER"),
    (r"<?\d[\d.]* on average, (\d+) at most", r"AVERAGE, \1 at most"),
    (r"<?\b\d[\d.]*/\d+(?=\s|$)", "AVERAGE/MOST"),
    (r"[\d,]+ (packets (?:captured|received|in)|records)", r"NUMBER \1"),
    (r"ping_pong\[\d+\]", "ping_pong[NUMBER]"),
)]


def shape_of(text):
    """The text with what varies replaced, and one blank between words: a table's width and a line's end depend on the numbers."""
    for pattern, shape in SHAPES:
        text = pattern.sub(shape, text)
    return " ".join(text.split())


def fits(expected, printed):
    """Whether the printed text is the expected one, in which `...` stands for anything."""
    parts = [re.escape(shape_of(part)) for part in expected.split("...")]
    return re.fullmatch(r".*?".join(rf"\s*{part}\s*" for part in parts), shape_of(printed), re.DOTALL) is not None


class Mismatch(Exception):
    pass


def split_errors(expected, errors):
    """The expected lines without those that standard error has, and whether standard error has no other lines."""
    left = [shape_of(line) for line in errors.splitlines()]
    output = []
    for line in expected:
        if shape_of(line) in left:
            left.remove(shape_of(line))
        else:
            output.append(line)
    return output, not left


class Program:
    """A command in a terminal. Its output is in files: no pipe can fill up."""

    def __init__(self, command, folder, environment):
        self.command = command
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        self.expected = []
        self.background = "-i lo" in command or " server" in command or "echo_server" in command or "file_server serve" in command
        self.process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=self.files[0], stderr=self.files[1], start_new_session=True)

    def texts(self):
        return [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode("utf-8", "replace") for file in self.files]

    def matches(self):
        output, errors = self.texts()
        rest, complete = split_errors(self.expected, errors)
        return (complete or "..." in rest) and fits("\n".join(rest), output)

    def expect(self, lines):
        """Waits until everything that it printed so far is what the page shows."""
        self.expected += lines
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ended = self.process.poll() is not None
            if (ended or self.background) and self.matches():
                return
            if ended:
                break
            time.sleep(0.02)
        raise Mismatch(f"{self.command}\n--- the page shows\n" + "\n".join(self.expected) + "\n--- it printed\n" + "".join(self.texts()))

    def interrupt(self):
        if "-i lo" in self.command:
            time.sleep(0.3)  # the kernel hands over captured packets in blocks, and nothing reports an incomplete block
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(PATIENCE)

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def steps_of(page):
    """Terminal, command and lines of output of each step."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        step = None
        for line in block.splitlines():
            prompt = re.match(r"(server|client|watch)\$ ?(.*)", line)
            if prompt:
                if step:
                    yield step
                step = (prompt[1], prompt[2].strip(), [])
            else:
                step[2].append(line)
        yield step


def run_page(page, folder):
    """In a network namespace of its own."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    commands = folder / "commands"
    commands.mkdir()
    (commands / "rdmascope").symlink_to(os.environ["RDMASCOPE_BINARY"])
    (commands / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (commands / "sudo").chmod(0o755)
    for sample in pathlib.Path(os.environ["RDMASCOPE_SAMPLES"]).iterdir():
        (folder / sample.name).symlink_to(sample)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RDMASCOPE_")}
    environment = {**kept, "LC_ALL": "C.UTF-8", "PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(folder)}
    terminals = {}
    try:
        for terminal, command, lines in steps_of(page):
            before = terminals.get(terminal)
            if command == "^C":
                before.interrupt()
                before.expect(lines)
            elif command == "":
                before.expect(lines)
            else:
                if before:
                    before.process.wait(PATIENCE)
                terminals[terminal] = Program(command, folder, environment)
                terminals[terminal].expect(lines)
    finally:
        for program in terminals.values():
            program.end()


def run_chapter(page):
    """Runs this script for one page in a new network namespace: what was wrong, or nothing."""
    with tempfile.TemporaryDirectory(prefix="rdmascope-guide-") as folder:
        user = [] if os.getuid() == 0 else ["--map-root-user"]
        done = subprocess.run(["unshare", "--net", *user, sys.executable, "-B", __file__, page, folder], capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode else ""


def has_network_namespaces():
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    needed = shutil.which("unshare") and shutil.which("ip")
    return needed and subprocess.run(["unshare", "--net", *user, "ip", "link", "set", "lo", "up"], capture_output=True).returncode == 0


def main():
    if len(sys.argv) == 3:
        try:
            run_page(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
        except Mismatch as mismatch:
            sys.exit(str(mismatch))
        return
    if not has_network_namespaces():
        print("network namespaces are not permitted here")
        sys.exit(SKIPPED)
    pages = [page for page in PAGES if len(sys.argv) == 1 or page.name.startswith(sys.argv[1])]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(4) as chapters:
        for page, problem in zip(pages, chapters.map(run_chapter, pages)):
            print(f"{page.name}: {'ok' if not problem else 'FAILED'}\n{problem}", end="")
            failed += bool(problem)
    sys.exit(1 if failed or not pages else 0)


main()
