"""Two hosts for the tests of capturing, the probe that captures there, and tcpdump next to it."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from frames import frames_of
from path import PATIENCE_SECONDS, needs_namespaces

PROBE = os.environ["RDMASCOPE_CAPTURE_PROBE"]
FOREVER = 10**9
QUIET_MS = 1000  # for so long nothing came: it will not come
ARRIVAL_MS = 30000  # for so long nothing came that must come: it is lost


def needs_hosts():
    """For setUpModule: skips all tests where there can be no hosts, or nothing to compare with."""
    needs_namespaces()
    if not shutil.which("tcpdump"):
        raise unittest.SkipTest("tcpdump is not installed: there is no second source")


class Hosts:
    """Two network namespaces joined by a veth pair, `eth0` on each, without addresses: nothing passes but what is sent."""

    def __init__(self):
        self.names = {host: f"rdmascope-live-{os.getpid()}-{host}" for host in ("near", "far")}
        self.probes = []

    def __enter__(self):
        try:
            for host, name in self.names.items():
                self.ip("netns", "add", name)
                self.run(host, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1", check=False)
            self.join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def join(self, interface="eth0"):
        self.ip("-n", self.names["near"], "link", "add", interface, "type", "veth", "peer", "name", interface, "netns", self.names["far"])
        for host in self.names:
            self.link(host, interface, "up")

    def link(self, host, interface, *change):
        self.ip("-n", self.names[host], "link", "set", interface, *change)

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)

    def within(self, host, *command):
        return ["ip", "netns", "exec", self.names[host], *map(str, command)]

    def run(self, host, *command, check=True):
        return subprocess.run(self.within(host, *command), check=check, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

    def probe(self, host, *settings):
        probe = Probe(self.within(host, PROBE, *settings))
        self.probes.append(probe)
        return probe

    def lost(self, host):
        """By the interface's own counters, which were 0 when it was made."""
        counters = (f"/sys/class/net/eth0/statistics/{name}" for name in ("rx_missed_errors", "rx_fifo_errors"))
        return sum(int(self.run(host, "cat", counter).stdout) for counter in counters)

    def send(self, host, frames, interface="eth0", pause=0.0):
        """As they are and in this order, by a packet socket in the host's namespace. From one processor: each has its own queue of
        what goes through a veth pair."""
        with tempfile.TemporaryFile() as file:
            for frame in frames:
                file.write(struct.pack("<I", len(frame)) + frame)
            file.seek(0)
            script = ("import os, socket, struct, sys, time\n"
                      "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
                      "link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
                      f"link.bind(({interface!r}, 0))\n"
                      "while size := sys.stdin.buffer.read(4):\n"
                      "    link.send(sys.stdin.buffer.read(struct.unpack('<I', size)[0]))\n"
                      f"    {f'time.sleep({pause})' if pause else 'pass'}\n")
            subprocess.run(self.within(host, "python3", "-c", script), stdin=file, check=True, timeout=PATIENCE_SECONDS)

    def __exit__(self, *_):
        for probe in self.probes:
            probe.close()
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Probe:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline().strip()
        if ready != "ready":
            self.close()
            raise AssertionError(f"the probe did not start: {ready}")

    def ask(self, question):
        self.begin(question)
        return self.answer()

    def begin(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()

    def answer(self):
        """The last line of an answer, and what came before it."""
        lines = []
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"the probe ended with {self.process.wait()}")
            lines.append(json.loads(line))
            if "octets" not in lines[-1]:
                return lines[-1], lines[:-1]

    def read(self, frames=FOREVER, quiet_ms=None):
        """Frames until so many came or none for a while, and the status then. Those that must come are waited for."""
        if quiet_ms is None:
            quiet_ms = QUIET_MS if frames == FOREVER else ARRIVAL_MS
        last, frames = self.ask(f"read {frames} {quiet_ms}")
        for frame in frames:
            frame["octets"] = bytes.fromhex(frame["octets"])
        return frames, last["status"]

    def statistics(self):
        return self.ask("statistics")[0]["statistics"]

    def events(self):
        """What happened to interfaces and filters."""
        return [event for event in self.ask("events")[0]["events"] if event[0] != "learning"]

    def refusals(self):
        """Why the kernel does not learn, if it does not."""
        return [message for kind, _, message in self.ask("events")[0]["events"] if kind == "learning"]

    def close(self):
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Tcpdump:
    """tcpdump on an interface of a host while the block runs."""

    def __init__(self, hosts, host, interface="eth0", *options):
        self.folder = tempfile.TemporaryDirectory(prefix="rdmascope-live-")
        os.chmod(self.folder.name, 0o777)
        self.file = pathlib.Path(self.folder.name) / "seen.pcap"
        self.process = subprocess.Popen(hosts.within(host, "tcpdump", "-i", interface, "-s", "0", "-B", "65536", "-U", "-Z", "root", "-w",
                                                     self.file, *options), stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        line = self.process.stderr.readline()
        while line and "listening on" not in line:
            line = self.process.stderr.readline()
        return self

    def frames(self, count):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.file.exists() or len(frames_of(self.file)) < count:
            if time.monotonic() > deadline:
                raise AssertionError(f"tcpdump saw fewer than {count} frames")
            time.sleep(0.1)
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE_SECONDS)
        return frames_of(self.file)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.folder.cleanup()
