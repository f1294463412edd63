"""What the whole-command tests share: running the binary, and the captures to run it on."""
import fcntl
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import termios
import time
import unittest

BINARY = os.environ["RDMASCOPE_BINARY"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
PCAPS = ROOT / "pcaps"

# Whatever the caller's terminal and place are, the text is the same.
ENVIRONMENT = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
for name in ("NO_COLOR", "CLICOLOR_FORCE"):
    ENVIRONMENT.pop(name, None)


def run(*arguments, **options):
    """Runs rdmascope; standard output and error as text unless `text=False` is given."""
    options = {"text": True, "capture_output": True, "timeout": 120, "env": ENVIRONMENT, **options}
    return subprocess.run([BINARY, *map(str, arguments)], **options)


def dump(*arguments, **options):
    return run("dump", *arguments, **options)


def run_unprivileged(*arguments):
    """Runs a copy of rdmascope that anybody can reach, as nobody where we are root: root may do everything."""
    if os.getuid() != 0:
        return run(*arguments)
    with tempfile.TemporaryDirectory(prefix="rdmascope-cli-") as folder:
        os.chmod(folder, 0o755)
        binary = shutil.copy(BINARY, folder)
        options = {"text": True, "capture_output": True, "timeout": 120, "env": ENVIRONMENT, "cwd": "/"}
        return subprocess.run([binary, *map(str, arguments)], user=65534, group=65534, extra_groups=[], **options)


def tcpdump(*arguments, **options):
    options = {"text": True, "capture_output": True, "timeout": 120, "env": ENVIRONMENT, **options}
    return subprocess.run(["tcpdump", *map(str, arguments)], **options)


def tshark(*arguments, **options):
    options = {"text": True, "capture_output": True, "timeout": 300, "env": ENVIRONMENT, **options}
    return subprocess.run(["tshark", *map(str, arguments)], **options)


def wait_for_reader(process, seconds=60):
    """Waits until a process has read all that is in the pipe of its standard input, and its threads wait for more."""
    deadline = time.monotonic() + seconds
    quiet = 0
    while quiet < 3:
        if time.monotonic() > deadline:
            raise AssertionError("the process does not read its standard input to the end")
        unread, = struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)))
        states = [stat.read_text().rpartition(")")[2].split()[0] for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat")]
        quiet = quiet + 1 if unread == 0 and set(states) == {"S"} else 0
        time.sleep(0.02)


def needs(program):
    """Skips a test where another program is not installed."""
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class TestCase(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def succeeds(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fails(self, result, status=1):
        """A failure that is explained: the exit status, something on standard error, no bare errno."""
        self.assertEqual(result.returncode, status, f"{result.stdout}{result.stderr}")
        self.assertTrue(result.stderr.startswith("rdmascope"), result.stderr)
        self.assertNotRegex(result.stderr, r"errno|terminate called|what\(\)")
        return result.stderr


def plain_captures():
    return sorted(PCAPS.glob("*.pcap"))


def compressed_captures():
    return sorted(PCAPS.glob("*.pcap.gz"))


if __name__ == "__main__":
    raise SystemExit("this is no test by itself")
