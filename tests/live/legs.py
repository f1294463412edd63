"""Two hosts, two routers between them, and several legs between the routers: network namespaces joined by veth pairs. Routers hash
the five-tuple (fib_multipath_hash_policy=1). One leg may run through the relay, which loses packets. Nothing leaves the machine: the
namespaces have no other interface, and go with the test."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from frames import frames_of
from path import ENVIRONMENT, HERE, PATIENCE_SECONDS

# The addresses that the model's hosts a and b have (tests/model/packet.cpp).
ADDRESSES = {"near": "10.0.0.1", "far": "10.0.0.2"}
MACS = {"near": "02:00:00:00:00:00", "far": "02:00:00:00:00:01"}
GATEWAY = "10.255.0.1"
ROUTER_OF = {"near": "one", "far": "two"}


class Legs:
    """`with Legs(4, relay=["--drop-every", "50"]) as legs`: hosts `near` and `far`, routers `one` and `two`; leg 0 is relayed."""

    def __init__(self, count=4, relay=None):
        self.count, self.relay_options, self.relay = count, relay, None
        names = ["near", "one", "two", "far"] + (["relay"] if relay is not None else [])
        self.names = {name: f"rdmascope-legs-{os.getpid()}-{name}" for name in names}
        self.processes = []

    def __enter__(self):
        try:
            for name in self.names.values():
                subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True, text=True)
            for name in self.names:
                self.ip(name, "link", "set", "lo", "up")
                self.run(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", check=False)
            for host in ADDRESSES:
                self.join_host(host)
            for number in range(self.count):
                self.join_leg(number)
            for host in ADDRESSES:
                self.route(host, range(self.count))
        except BaseException:
            self.__exit__()
            raise
        return self

    def join_host(self, host):
        """A router has the hardware address of the other host, so that the model's frames need not be changed."""
        router, other = ROUTER_OF[host], "far" if host == "near" else "near"
        self.pair(host, "eth0", router, "host")
        self.ip(router, "link", "set", "host", "address", MACS[other])
        self.ip(host, "link", "set", "eth0", "address", MACS[host])
        self.ip(router, "addr", "add", f"{GATEWAY}/32", "dev", "host")
        self.ip(host, "addr", "add", f"{ADDRESSES[host]}/32", "dev", "eth0")
        self.ip(host, "route", "add", GATEWAY, "dev", "eth0")
        self.ip(host, "route", "add", "default", "via", GATEWAY)
        self.ip(host, "neigh", "replace", GATEWAY, "lladdr", MACS[other], "dev", "eth0", "nud", "permanent")
        self.ip(router, "route", "add", ADDRESSES[host], "dev", "host")
        self.ip(router, "neigh", "replace", ADDRESSES[host], "lladdr", MACS[host], "dev", "host", "nud", "permanent")
        for setting in ("ip_forward=1", "fib_multipath_hash_policy=1", "conf.all.rp_filter=0", "conf.host.rp_filter=0"):
            self.run(router, "sysctl", "-qw", f"net.ipv4.{setting}")

    def join_leg(self, number):
        leg = f"leg{number}"
        if number == 0 and self.relay_options is not None:
            self.pair("one", leg, "relay", "near0")
            self.pair("two", leg, "relay", "far0")
            self.relay = self.start("relay", sys.executable, "-B", HERE / "relay.py", "near0", "far0", *self.relay_options, ready="ready")
        else:
            self.pair("one", leg, "two", leg)
        for router, side, other in (("one", 1, 2), ("two", 2, 1)):
            self.ip(router, "link", "set", leg, "address", f"02:01:00:00:{number:02x}:{side:02x}")
            self.ip(router, "addr", "add", f"10.1.{number}.{side}/24", "dev", leg)
            self.ip(router, "neigh", "replace", f"10.1.{number}.{other}", "lladdr", f"02:01:00:00:{number:02x}:{other:02x}", "dev", leg,
                    "nud", "permanent")
            self.run(router, "sysctl", "-qw", f"net.ipv4.conf.{leg}.rp_filter=0")

    def route(self, host, legs):
        """What is for the other host leaves `host`'s router by these legs."""
        other, side = ("far", 2) if host == "near" else ("near", 1)
        hops = [word for number in legs for word in ("nexthop", "via", f"10.1.{number}.{side}", "dev", f"leg{number}")]
        self.ip(ROUTER_OF[host], "route", "replace", ADDRESSES[other], *hops)

    def pair(self, name, interface, other, peer):
        self.ip(name, "link", "add", interface, "type", "veth", "peer", "name", peer, "netns", self.names[other])
        for end, link in ((name, interface), (other, peer)):
            self.ip(end, "link", "set", link, "up")
            subprocess.run(self.within(end, sys.executable, "-B", HERE / "offloads.py", link), check=True)

    def ip(self, name, *arguments):
        done = subprocess.run(["ip", "-n", self.names[name], *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"ip {' '.join(map(str, arguments))}: {done.stderr.strip()}")

    def within(self, name, *command):
        return ["ip", "netns", "exec", self.names[name], *map(str, command)]

    def run(self, name, *command, check=True):
        return subprocess.run(self.within(name, *command), check=check, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                              env=ENVIRONMENT)

    def start(self, name, *command, ready=None):
        process = subprocess.Popen(self.within(name, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.processes.append(process)
        if ready is not None:
            line = process.stdout.readline()
            if not line.startswith(ready):
                process.kill()
                raise AssertionError(f"{command} did not start: {line}{process.communicate()[1]}")
        return process

    def stop(self, process):
        """Its standard output since it was ready."""
        process.send_signal(signal.SIGTERM)
        return process.communicate(timeout=PATIENCE_SECONDS)[0]

    def counters(self, name="tx_bytes"):
        """Of each leg, by the first router's interface."""
        return [int(self.run("one", "cat", f"/sys/class/net/leg{number}/statistics/{name}").stdout) for number in range(self.count)]

    def relayed(self):
        return json.loads(self.stop(self.relay))

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Watch:
    """tcpdump on interfaces of the namespaces while the block runs: `with Watch(legs, "udp", ("near", "eth0"), ...) as watch`."""

    def __init__(self, legs, what, *places):
        self.legs, self.what, self.places = legs, what, places
        self.processes = []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rdmascope-legs-")
        os.chmod(self.folder.name, 0o777)
        try:
            for place in self.places:
                self.processes.append(subprocess.Popen(
                    self.legs.within(place[0], "tcpdump", "-i", place[1], "-s", "256", "-B", "65536", "-U", "--immediate-mode", "-Z", "root",
                                     "-w", self.file(*place), self.what), stderr=subprocess.PIPE, text=True))
                line = self.processes[-1].stderr.readline()
                while line and "listening on" not in line:
                    line = self.processes[-1].stderr.readline()
        except BaseException:
            self.__exit__()
            raise
        return self

    def file(self, name, interface):
        return pathlib.Path(self.folder.name) / f"{name}-{interface}.pcap"

    def finish(self):
        """All that passed is in the files: their sizes no longer grow."""
        sizes = None
        while sizes != (now := [self.file(*place).stat().st_size for place in self.places]):
            sizes = now
            time.sleep(0.3)
        for process in self.processes:
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=PATIENCE_SECONDS)[1]
            if "0 packets dropped by kernel" not in text:
                raise AssertionError(f"a capture is not whole: {text}")

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.folder.cleanup()


def ports_of(frame):
    """Addresses and ports of a frame over IPv4 without options."""
    return frame[26:30], frame[30:34], int.from_bytes(frame[34:36], "big"), int.from_bytes(frame[36:38], "big")


def entropies_of(file):
    """(source port, destination port) of what host `near` sent: how many frames."""
    near = bytes(map(int, ADDRESSES["near"].split(".")))
    found = collections.Counter()
    for frame, _ in frames_of(file):
        source, _, source_port, destination_port = ports_of(frame)
        if source == near:
            found[source_port, destination_port] += 1
    return found
