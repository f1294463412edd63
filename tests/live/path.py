"""Two hosts and what lies between them: network namespaces joined by veth pairs, directly or through the relay. Nothing leaves
the machine: the namespaces have no other interface, and go with the test."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ["RDMASCOPE_BINARY"]
ENVIRONMENT = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
NEAR_ADDRESS, FAR_ADDRESS = "10.77.0.1", "10.77.0.2"
PATIENCE_SECONDS = 120


def needs_namespaces():
    """For setUpModule: skips all tests where namespaces cannot be made."""
    if not shutil.which("ip"):
        raise unittest.SkipTest("iproute2 is not installed: no path between two hosts can be made")
    name = f"rdmascope-live-{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        raise unittest.SkipTest(f"network namespaces are not permitted here: {made.stderr.strip()}")
    pair = subprocess.run(["ip", "-n", name, "link", "add", "one", "type", "veth", "peer", "name", "other"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], check=True)
    if pair.returncode != 0:
        raise unittest.SkipTest(f"veth pairs cannot be made here: {pair.stderr.strip()}")


def shaping_works():
    """Whether this kernel has the token bucket that limits a rate."""
    with Path() as path:
        return path.shape("1gbit").returncode == 0


class Path:
    """`with Path(mtu=9000, relay=["--drop-every", "50"]) as path`: hosts `near` and `far`, interface `eth0` on each."""

    def __init__(self, mtu=1500, relay=None):
        self.mtu, self.relay_options = mtu, relay
        self.names = {host: f"rdmascope-live-{os.getpid()}-{host}" for host in ("near", "far", "relay")}
        self.made, self.processes, self.relay = [], [], None

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _ip(self, *arguments):
        subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, text=True)

    def _build(self):
        between = "far" if self.relay_options is None else "relay"
        for host in ("near", "far") if self.relay_options is None else self.names:
            self._ip("netns", "add", self.names[host])
            self.made.append(host)
        if self.relay_options is None:
            pairs = [("near", "eth0", "far", "eth0")]
        else:
            pairs = [("near", "eth0", "relay", "near0"), ("far", "eth0", "relay", "far0")]
        for host, interface, other, peer in pairs:
            self._ip("-n", self.names[host], "link", "add", interface, "type", "veth", "peer", "name", peer, "netns", self.names[other])
            for end, link in ((host, interface), (other, peer)):
                self._ip("-n", self.names[end], "link", "set", link, "mtu", self.mtu, "up")
                subprocess.run(self.within(end, sys.executable, "-B", HERE / "offloads.py", link), check=True)
        for host, address in (("near", NEAR_ADDRESS), ("far", FAR_ADDRESS)):
            self._ip("-n", self.names[host], "addr", "add", f"{address}/24", "dev", "eth0")
            self._ip("-n", self.names[host], "link", "set", "lo", "up")
        if between == "relay":
            self.relay = self.start("relay", sys.executable, "-B", HERE / "relay.py", "near0", "far0", *self.relay_options)

    def shape(self, rate):
        """Limits what leaves `near`."""
        return subprocess.run(["tc", "-n", self.names["near"], "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "64k",
                               "latency", "200ms"], capture_output=True, text=True)

    def within(self, host, *command):
        return ["ip", "netns", "exec", self.names[host], *map(str, command)]

    def start(self, host, *command, ready="ready"):
        """A process that goes on until it is stopped; waits for its line that says so."""
        process = subprocess.Popen(self.within(host, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.processes.append(process)
        line = process.stdout.readline()
        if not line.startswith(ready):
            process.kill()
            raise AssertionError(f"{command} did not start: {line}{process.communicate()[1]}")
        return process

    def stop(self, process, how=signal.SIGTERM):
        """Its standard output since it was ready."""
        process.send_signal(how)
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        if process.returncode != 0:
            raise AssertionError(f"{process.args} ended with {process.returncode}: {out}{errors}")
        return out

    def run(self, host, *command):
        return subprocess.run(self.within(host, *command), capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=ENVIRONMENT)

    def relayed(self):
        report = json.loads(self.stop(self.relay))
        self.relay = None
        return report

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        for host in self.made:
            subprocess.run(["ip", "netns", "del", self.names[host]], capture_output=True)


class Capture:
    """tcpdump on `near`'s interface while the block runs."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rdmascope-live-")
        os.chmod(self.folder.name, 0o777)
        self.file = pathlib.Path(self.folder.name) / "near.pcap"
        self.process = subprocess.Popen(
            self.path.within("near", "tcpdump", "-i", "eth0", "-s", "0", "-B", "65536", "-U", "--immediate-mode", "-Z", "root", "-w", self.file,
                             "tcp"), stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        while line and "listening on" not in line:
            line = self.process.stderr.readline()
        return self

    def finish(self):
        """All that passed is in the file: its size has stopped to grow."""
        size = -1
        while size != self.file.stat().st_size:
            size = self.file.stat().st_size
            time.sleep(0.2)
        self.process.send_signal(signal.SIGINT)
        text = self.process.communicate(timeout=PATIENCE_SECONDS)[1]
        if "0 packets dropped by kernel" not in text:
            raise AssertionError(f"the capture is not whole: {text}")
        return self.file

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.folder.cleanup()


def rdmascope(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=ENVIRONMENT)
