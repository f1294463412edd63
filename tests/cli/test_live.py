"""Live capture, in a network namespace of its own that is removed afterwards: recorded frames are put on one end of a veth
pair and captured on the other."""
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, dump, run_unprivileged

NAMESPACE = f"rdmascope-test-{os.getpid()}"
RPING = PCAPS / "rxe-rping.pcap"
COUNT = 60  # frames that are sent
SENDER = """
import socket, struct, sys
octets = open(sys.argv[1], "rb").read()
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[2], 0))
at = 24
for _ in range(int(sys.argv[3])):
    size = struct.unpack_from("<I", octets, at + 8)[0]
    link.send(octets[at + 16:at + 16 + size])
    at += 16 + size
"""


def frames(path):
    """The octets of the frames of a little-endian pcap file."""
    octets = pathlib.Path(path).read_bytes()
    at, found = 24, []
    while at < len(octets):
        size = struct.unpack_from("<I", octets, at + 8)[0]
        found.append(octets[at + 16:at + 16 + size])
        at += 16 + size
    return found


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


def within(*command):
    return ["ip", "netns", "exec", NAMESPACE, *map(str, command)]


def setUpModule():
    if not shutil.which("ip"):
        raise unittest.SkipTest("iproute2 is not installed: live capture is not tested")
    made = ip("netns", "add", NAMESPACE)
    if made.returncode != 0:
        raise unittest.SkipTest(f"network namespaces are not permitted here, live capture is not tested: {made.stderr.strip()}")
    unittest.addModuleCleanup(ip, "netns", "del", NAMESPACE)
    for arguments in (["link", "add", "near", "type", "veth", "peer", "name", "far"], ["link", "set", "near", "up"],
                      ["link", "set", "far", "up"], ["link", "set", "lo", "up"]):
        done = ip("-n", NAMESPACE, *arguments)
        if done.returncode != 0:
            raise unittest.SkipTest(f"a veth pair cannot be made here, live capture is not tested: {done.stderr.strip()}")


class Live(TestCase):
    def start(self, *arguments):
        """Starts a capture and waits until it listens."""
        process = subprocess.Popen(within(BINARY, "dump", *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        for _ in range(list(arguments).count("-i")):
            line = process.stderr.readline().decode()
            self.assertIn("listening on", line)
        return process

    def send(self, interface="far", count=COUNT):
        subprocess.run(within(sys.executable, "-c", SENDER, RPING, interface, count), check=True)

    def end(self, process, number=signal.SIGINT):
        """Ends a capture; its standard output and error."""
        process.send_signal(number)
        return self.finished(process)

    def has_captured(self, process, count):
        """Waits for so many packets; where there are to be none, for a moment in which some could come."""
        deadline, told = time.monotonic() + 60, []
        while told[:1] != [f"{count} packets captured\n"]:
            self.assertLess(time.monotonic(), deadline, told)
            time.sleep(0.05 if count else 0.4)
            process.send_signal(signal.SIGUSR1)
            told = [process.stderr.readline().decode() for _ in ("captured", "received by filter", "dropped by kernel")]

    def finished(self, process):
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, error)
        return out.decode(), error.decode()

    def test_what_is_sent_is_saved(self):
        saved = self.folder / "live.pcap"
        process = self.start("-i", "near", "-w", saved, "udp port 4791")
        self.send()
        self.has_captured(process, COUNT)
        out, error = self.end(process)
        self.assertEqual(frames(saved), frames(RPING)[:COUNT])
        self.assertEqual(out, "")
        self.assertRegex(error, rf"^{COUNT} packets captured\n{COUNT} packets received by filter\n0 packets dropped by kernel\n")

    def test_what_is_sent_is_printed_at_once(self):
        process = self.start("-i", "near", "-n", "-t", "-l")
        self.send(count=4)
        wanted = dump("-r", RPING, "-n", "-t", "-c", 4).stdout
        lines = "".join(process.stdout.readline().decode() for _ in range(4))
        self.assertEqual(lines, wanted)
        out, error = self.end(process, signal.SIGTERM)
        self.assertIn("packets received by filter", error)

    def test_a_count_ends_it(self):
        process = self.start("-i", "near", "-n", "-t", "-c", 5)
        self.send()
        out, error = self.finished(process)
        self.assertEqual(out, dump("-r", RPING, "-n", "-t", "-c", 5).stdout)
        self.assertIn("5 packets captured", error)

    def test_a_display_filter(self):
        process = self.start("-i", "near", "-T", "fields", "-e", "infiniband.bth.psn", "-Y", "infiniband.aeth", "-c", 5)
        self.send()
        out, _ = self.finished(process)
        wanted = dump("-r", RPING, "-T", "fields", "-e", "infiniband.bth.psn", "-Y", "infiniband.aeth", "-c", 5)
        self.assertEqual(out, wanted.stdout)

    def test_several_interfaces(self):
        saved = self.folder / "live.pcapng"
        process = self.start("-i", "near", "-i", "far", "-w", saved, "udp port 4791")
        self.send()
        self.has_captured(process, 2 * COUNT)
        _, error = self.end(process)
        self.assertIn(f"{2 * COUNT} packets captured", error)
        names = dump("-r", saved, "-T", "fields", "-e", "frame.interface_name").stdout.split()
        self.assertEqual({name: names.count(name) for name in set(names)}, {"near": COUNT, "far": COUNT})

    def test_any_interface(self):
        process = self.start("-i", "any", "-n", "-t", "udp port 4791")
        self.send()
        self.has_captured(process, 2 * COUNT)
        out, _ = self.end(process)
        self.assertEqual(len(out.splitlines()), 2 * COUNT)
        first = dump("-r", RPING, "-n", "-t", "-c", 1).stdout.split()[2]
        self.assertIn(first, out)

    def test_a_snapshot_length(self):
        saved = self.folder / "live.pcap"
        process = self.start("-i", "near", "-s", 96, "-w", saved, "udp port 4791")
        self.send()
        self.has_captured(process, COUNT)
        self.end(process)
        self.assertEqual(frames(saved), [frame[:96] for frame in frames(RPING)[:COUNT]])

    def test_one_direction(self):
        for direction, interface, wanted in (("in", "near", COUNT), ("out", "near", 0), ("in", "far", 0), ("out", "far", COUNT)):
            with self.subTest(direction=direction, interface=interface):
                process = self.start("-i", interface, "-Q", direction, "-T", "fields", "-e", "frame.number", "udp port 4791")
                self.send()
                self.has_captured(process, wanted)
                out, _ = self.end(process)
                self.assertEqual(len(out.split()), wanted)

    def test_counts_on_demand(self):
        process = self.start("-i", "near", "-w", self.folder / "live.pcap", "udp port 4791")
        self.send()
        self.has_captured(process, COUNT)
        self.send()
        self.has_captured(process, 2 * COUNT)
        _, error = self.end(process)
        self.assertIn(f"{2 * COUNT} packets captured", error)

    def test_buffered_packets_on_demand(self):
        saved = self.folder / "live.pcap"
        process = self.start("-i", "near", "-w", saved, "udp port 4791")
        self.send()
        self.has_captured(process, COUNT)
        process.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + 60
        while saved.stat().st_size < 24 + sum(16 + len(frame) for frame in frames(RPING)[:COUNT]) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(len(frames(saved)), COUNT)
        self.end(process)

    def test_a_file_every_second(self):
        process = self.start("-i", "near", "-G", 1, "-W", 2, "-w", self.folder / "at-%s.pcap", "udp port 4791")
        for _ in range(30):
            if process.poll() is not None:
                break
            self.send(count=3)
            time.sleep(0.2)
        self.finished(process)
        saved = sorted(self.folder.iterdir())
        self.assertEqual(len(saved), 2)
        for file in saved:
            self.assertRegex(file.name, r"^at-\d{10}\.pcap$")
        # Seconds are those of the clock, so that the first of them may be short.
        self.assertGreater(len(frames(saved[-1])), 0)

    def test_a_file_of_a_second_ends_on_a_quiet_interface(self):
        self.finished(self.start("-i", "near", "-G", 1, "-W", 1, "-w", self.folder / "quiet.pcap", "udp port 4791"))
        self.assertEqual(frames(self.folder / "quiet.pcap"), [])

    def test_an_interface_that_is_not_there(self):
        result = subprocess.run(within(BINARY, "dump", "-i", "none"), capture_output=True, text=True, env=ENVIRONMENT)
        message = self.fails(result)
        self.assertRegex(message, "no such interface")
        self.assertRegex(message, r"\bnear\b")

    def test_a_wrong_expression(self):
        result = subprocess.run(within(BINARY, "dump", "-i", "near", "udp port"), capture_output=True, text=True, env=ENVIRONMENT)
        self.assertIn("udp port", self.fails(result, 2))

    def test_without_permission(self):
        if os.getuid() != 0:
            self.skipTest("only root can become somebody else")
        result = run_unprivileged("dump", "-i", "lo")
        self.assertRegex(self.fails(result), "ermission|permitted")

    def test_a_quiet_interface_can_be_left(self):
        process = self.start("-i", "near", "udp port 4791")
        begun = time.monotonic()
        _, error = self.end(process)
        self.assertLess(time.monotonic() - begun, 2)
        self.assertTrue(re.search("^0 packets captured", error, re.MULTILINE), error)


if __name__ == "__main__":
    unittest.main()
