"""What many flows, and hostile ones, cost at most: the greatest resident size of whole commands."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import one_packet_flows  # noqa: E402
from command import BINARY, ENVIRONMENT, PCAPS, TestCase, run  # noqa: E402

FLOWS = 40_000
PROGRAM = 60 << 20   # the program itself, the map of the file
SCREEN = 20 << 20    # buffers of `top`
OF_FLOW = 1024       # with its row in the answer
SANITIZED = any(name in BINARY for name in ("asan", "tsan"))


def usage_of(*arguments):
    """What a command that succeeds has used."""
    with subprocess.Popen([BINARY, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT) as child:
        message = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, message
    return usage


def peak_bytes(*arguments):
    """VmHWM of a command."""
    return usage_of(*arguments).ru_maxrss << 10


def pages(*arguments):
    """Pages that a command used for the first time."""
    return usage_of(*arguments).ru_minflt


@unittest.skipIf(SANITIZED, "the sanitizer's allocator keeps what is freed")
class MemoryTest(TestCase):
    COMMANDS = (("why",), ("why", "--json"), ("flows",), ("flows", "--json"), ("flows", "--csv"), ("top", "--once"))

    @classmethod
    def setUpClass(cls):
        cls.captures = tempfile.TemporaryDirectory(prefix="rdmascope-memory-")
        cls.addClassCleanup(cls.captures.cleanup)

    def capture(self, crc, hosts=1):
        path = os.path.join(self.captures.name, f"{crc}{hosts}.pcap")
        if not os.path.exists(path):
            one_packet_flows.write(path, FLOWS, crc, hosts)
        return path

    def test_flows_of_one_packet(self):
        runs = [(crc, command, ()) for crc in ("good", "bad") for command in self.COMMANDS]
        runs += [("bad", command, ("-K",)) for command in (("why",), ("top", "--once"))]  # as good ones, without a CRC
        for crc, command, crcs in runs:
            with self.subTest(crc=crc, command=command, crcs=crcs):
                peak = peak_bytes(*command, *crcs, "-n", "-r", self.capture(crc))
                self.assertLess(peak, PROGRAM + (SCREEN if command[0] == "top" else 0) + FLOWS * OF_FLOW)

    def test_a_short_capture_does_not_clear_the_tables_of_a_long_one(self):
        """The table of repeated packets has 1,024 pages, and so has the one that pairs flows by their PSNs."""
        every_command = pages("--version")
        for command, most in (("dump", 512), ("flows", 1280)):
            with self.subTest(command=command):
                self.assertLess(pages(command, "-r", str(PCAPS / "made-tunnels.pcap")) - every_command, most)

    def test_psn_that_jumps_is_one_flow(self):
        path = self.capture("jump")
        for crcs in ((), ("-K",)):
            lines = run("flows", "--csv", "--columns", "packets", *crcs, "-n", "-r", path).stdout.split()
            packets = [int(line) for line in lines[1:]]
            self.assertEqual(sum(packets), FLOWS)
            self.assertLess(len(packets), 20)
            for command in (("why",), ("top", "--once")):
                with self.subTest(command=command, crcs=crcs):
                    self.assertLess(peak_bytes(*command, *crcs, "-n", "-r", path), PROGRAM + SCREEN)

    def test_bound_on_flows_is_reported(self):
        path = self.capture("good")
        for command in (("flows",), ("why",)):
            told = run(*command, "--max-flows", "1000", "-n", "-r", path).stderr
            self.assertIn(f"{FLOWS - 1000} flows forgotten to stay within --max-flows", told.replace(",", ""))
        picture = run("top", "--once", "--size", "160x50", "--max-flows", "1000", "-n", "-r", path).stdout
        self.assertIn("forgotten to stay within --max-flows", picture)


if __name__ == "__main__":
    unittest.main()
