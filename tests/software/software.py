"""What the tests of unmodified programs share: starting them on the software stack, waiting for their ports, and ending them.

Everything runs on the loopback interface, each test on ports of its own, and nothing for longer than its time."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ["RDMASCOPE_BINARY"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
ADDRESS = "127.0.0.1"
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8"}
for name in [one for one in ENVIRONMENT if one.startswith("RDMASCOPE_SOFTWARE_")]:
    del ENVIRONMENT[name]

EXIT_SKIPPED = 77


def needs(*programs):
    """Skips a test where a program is not installed."""
    missing = [program for program in programs if not shutil.which(program)]
    return unittest.skipIf(missing, f"{', '.join(missing)} not installed")


def main():
    """As unittest.main, but a file whose tests were all skipped ends with 77."""
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        raise SystemExit(1)
    raise SystemExit(EXIT_SKIPPED if result.testsRun == len(result.skipped) else 0)


def free_port():
    """One that nobody listens on: chosen by the system, so that tests can run next to each other."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((ADDRESS, 0))
        return probe.getsockname()[1]


def listens(port):
    """Whether a socket of this network namespace listens on the port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as lines:
            next(lines)
            for line in lines:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                    return True
    return False


class Program:
    """A program on the software stack, with its output in files: no pipe can fill up, and no line is cut by a message."""

    def __init__(self, *command, options=(), environment=None, prefix=()):
        self.command = [str(word) for word in command]
        self.output, self.errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen([*prefix, BINARY, "run", "--software", *options, "--", *self.command], stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=self.errors, env={**ENVIRONMENT, **(environment or {})})

    def text(self):
        """What it said so far: standard output, then standard error. By pread: the program writes where the files' position is, which
        is one for both processes, so that whoever seeks to read has it write over what it said before."""
        return "".join(os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode("utf-8", "replace")
                       for file in (self.output, self.errors))

    def wait(self, seconds=60):
        """Its exit status; a program that does not end is killed, and a failure."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self} did not end within {seconds} s:\n{self.text()}") from None

    def wait_for_port(self, port, seconds=20):
        end = time.monotonic() + seconds
        while not listens(port):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{self} does not listen on port {port}:\n{self.text()}")
            time.sleep(0.02)
        return self

    def wait_for_text(self, wanted, seconds=20):
        end = time.monotonic() + seconds
        while wanted not in self.text():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{self} does not say {wanted!r}:\n{self.text()}")
            time.sleep(0.02)
        return self

    def send_signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def __str__(self):
        return f"`{' '.join(self.command)}`"


def explained(text):
    """What `explain` makes of what a program said: pattern -> cause."""
    done = subprocess.run([BINARY, "explain", "--json", "-"], input=text, capture_output=True, text=True, timeout=30, env=ENVIRONMENT)
    return {cause["pattern"]: cause for cause in json.loads(done.stdout)}


class TestCase(unittest.TestCase):
    def start(self, *command, **options):
        program = Program(*command, **options)
        self.addCleanup(program.output.close)
        self.addCleanup(program.errors.close)
        self.addCleanup(program.kill)
        return program

    def succeeds(self, program, seconds=60):
        """What it printed; its exit status was 0."""
        status = program.wait(seconds)
        self.assertEqual(status, 0, f"{program} ended with {status}:\n{program.text()}")
        return program.text()

    def fails(self, program, seconds=60):
        """What it printed; it ended by itself, and not with 0."""
        status = program.wait(seconds)
        self.assertGreater(status, 0, f"{program} ended with {status}:\n{program.text()}")
        return program.text()

    def both(self, server, client, seconds=60):
        """What server and client printed; both ended well."""
        return self.succeeds(client, seconds), self.succeeds(server, seconds)


if __name__ == "__main__":
    raise SystemExit("this is no test by itself")
