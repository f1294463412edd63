"""What packet rings and taps deliver of real interfaces, compared with what a raw socket sent and with what tcpdump saw."""
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import path
from path import PATIENCE_SECONDS

PROBE = os.environ["RDMASCOPE_CAPTURE_PROBE"]
PCAPS = pathlib.Path(os.environ["RDMASCOPE_PCAPS"])
FOREVER = 10**9
QUIET_MS = 1000  # for so long nothing came: it will not come
ADDRESSES = bytes.fromhex("020000000002020000000001")
LINKTYPE_ETHERNET, LINKTYPE_RAW = 1, 101


def setUpModule():
    path.needs_namespaces()
    if not shutil.which("tcpdump"):
        raise unittest.SkipTest("tcpdump is not installed: there is no second source")


def frames_of(file):
    """(octets, length on the wire) of a pcap."""
    octets = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    order = "<" if octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at, frames = 24, []
    while at + 16 <= len(octets):
        captured, length = struct.unpack_from(order + "II", octets, at + 8)
        frames.append((octets[at + 16:at + 16 + captured], length))
        at += 16 + captured
    return frames


def ethernet(kind, payload):
    return ADDRESSES + kind.to_bytes(2, "big") + payload


def ipv4(protocol, payload):
    return struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, 0x0a000001, 0x0a000002) + payload


def udp(port, payload=bytes(20)):
    return ethernet(0x0800, ipv4(17, struct.pack("!HHHH", 49152, port, 8 + len(payload), 0) + payload))


def tcp(source, destination, payload=b"", flags=0x18, sequence=1):
    return ethernet(0x0800, ipv4(6, struct.pack("!HHIIBBHHH", source, destination, sequence, 1, 0x50, flags, 512, 0, 0) + payload))


def with_tags(frame, *tags):
    return frame[:12] + b"".join(struct.pack("!HH", *tag) for tag in tags) + frame[12:]


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
        """As they are, by a packet socket in the host's namespace."""
        with tempfile.TemporaryFile() as file:
            for frame in frames:
                file.write(struct.pack("<I", len(frame)) + frame)
            file.seek(0)
            script = ("import socket, struct, sys, time\n"
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

    def read(self, frames=FOREVER, quiet_ms=QUIET_MS):
        """Frames until so many came or none for a while, and the status then."""
        last, frames = self.ask(f"read {frames} {quiet_ms}")
        for frame in frames:
            frame["octets"] = bytes.fromhex(frame["octets"])
        return frames, last["status"]

    def statistics(self):
        return self.ask("statistics")[0]["statistics"]

    def events(self):
        return self.ask("events")[0]["events"]

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


def mixed_traffic():
    """RoCE and iWARP of real captures, tags of every kind, the shortest and longest frames."""
    frames = [octets for name in ("rxe-rping.pcap", "siw-verbs-srq.pcap", "made-roce-carriers.pcap", "siw-gso-tcpdump-A.pcap")
              for octets, length in frames_of(PCAPS / name) if len(octets) == length <= 1514]
    for size in (46, 100, 1482):
        frames += [with_tags(udp(4791, bytes(size - 28)), *tags) for tags in
                   ([(0x8100, 0x6005)], [(0x8100, 0x0000)], [(0x88a8, 0x0007), (0x8100, 0xefff)], [(0x88a8, 0x0001)])]
    return frames


class Rings(unittest.TestCase):
    def assert_same(self, seen, expected, what=""):
        self.assertEqual(len(seen), len(expected), what)
        for number, (frame, octets) in enumerate(zip(seen, expected)):
            self.assertEqual(frame.hex(), octets.hex(), f"{what}, frame {number + 1}")

    def test_what_was_sent_comes_on_both_ends(self):
        sent = mixed_traffic()
        with Hosts() as hosts, Tcpdump(hosts, "far") as tcpdump:
            near, far = (hosts.probe(host, "ring", "interface=eth0", "snaplen=0") for host in ("near", "far"))
            hosts.send("near", sent)
            tcpdump_saw = tcpdump.frames(len(sent))
            for probe, direction in ((near, "out"), (far, "in")):
                seen, status = probe.read(len(sent))
                self.assertEqual(status, "frame")
                self.assert_same([frame["octets"] for frame in seen], sent, direction)
                self.assertEqual({frame["direction"] for frame in seen}, {direction})
                self.assertEqual([frame["length"] for frame in seen], [len(octets) for octets in sent])
                self.assertEqual([frame["number"] for frame in seen], list(range(1, len(sent) + 1)))
                self.assertEqual({frame["link_type"] for frame in seen}, {LINKTYPE_ETHERNET})
                times = [frame["time_ns"] for frame in seen]
                self.assertEqual(times, sorted(times))
                self.assertLess(abs(times[-1] - time.time_ns()), 60e9)
                host = "near" if direction == "out" else "far"
                self.assertEqual(probe.statistics(), [{"interface": "eth0", "received": len(sent), "kernel_dropped": 0,
                                                       "interface_dropped": hosts.lost(host)}])
            self.assert_same([octets for octets, _ in tcpdump_saw], sent, "tcpdump")

    def test_snap_length(self):
        sent = mixed_traffic()
        with Hosts() as hosts:
            probe = hosts.probe("far", "ring", "interface=eth0", "snaplen=100")
            hosts.send("near", sent)
            seen, _ = probe.read(len(sent))
            self.assert_same([frame["octets"] for frame in seen], [octets[:100] for octets in sent])
            self.assertEqual([frame["length"] for frame in seen], [len(octets) for octets in sent])
            self.assertEqual(probe.ask("snaplen 64"), ({}, []))
            hosts.send("near", sent)
            seen, _ = probe.read(len(sent))
            self.assert_same([frame["octets"] for frame in seen], [octets[:64] for octets in sent])

    def test_filters_of_tagged_frames_are_tcpdumps(self):
        sent = mixed_traffic() + [with_tags(udp(53), (0x8100, 5)), udp(53)]
        for expression in ("vlan", "vlan 5", "vlan and udp port 4791", "udp port 4791", "vlan 7 and vlan", "not vlan", "greater 1000"):
            with self.subTest(expression), Hosts() as hosts, Tcpdump(hosts, "far", "eth0", *expression.split()) as tcpdump:
                probe = hosts.probe("far", "ring", "interface=eth0", "snaplen=0", f"filter={expression}")
                hosts.send("near", sent)
                seen, _ = probe.read()
                self.assertGreater(len(seen), 0)
                self.assertLess(len(seen), len(sent))
                self.assert_same([frame["octets"] for frame in seen], [octets for octets, _ in tcpdump.frames(len(seen))])

    def test_the_narrowing_passes_tagged_frames(self):
        wanted = [udp(4791), tcp(50000, 7174, b"x"), ethernet(0x8915, bytes(60)), tcp(50000, 9, b"MPA ID Req Frame" + bytes(4))]
        unwanted = [udp(53), tcp(50000, 22, b"SSH-2.0"), ethernet(0x0806, bytes(46))]
        kinds = ([], [(0x8100, 5)], [(0x88a8, 5)], [(0x88a8, 5), (0x8100, 6)])
        sent = [with_tags(frame, *tags) for tags in kinds for frame in wanted + unwanted]
        expected = [with_tags(frame, *tags) for tags in kinds for frame in wanted]
        with Hosts() as hosts:
            for host in ("near", "far"):
                probe = hosts.probe(host, "ring", "interface=eth0")
                self.assertEqual(probe.ask("rdma 7174"), ({}, []))
                hosts.send("near", sent)
                seen, _ = probe.read()
                self.assert_same([frame["octets"] for frame in seen], expected, host)

    def test_loopback_comes_once(self):
        with Hosts() as hosts:
            hosts.link("near", "lo", "up")
            with Tcpdump(hosts, "near", "lo", "udp") as tcpdump:
                probe = hosts.probe("near", "ring", "interface=lo", "filter=udp")
                hosts.run("near", "python3", "-c", "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                          "s.bind(('127.0.0.1', 4791))\n[s.sendto(bytes([i]) * 20, ('127.0.0.1', 4791)) for i in range(10)]")
                seen, _ = probe.read()
                self.assertEqual([frame["octets"][-20:] for frame in seen], [bytes([i]) * 20 for i in range(10)])
                self.assert_same([frame["octets"] for frame in seen], [octets for octets, _ in tcpdump.frames(10)])
                self.assertEqual(probe.statistics()[0]["received"], 10)

    def test_raw_ip(self):
        with Hosts() as hosts:
            made = subprocess.run(["ip", "-n", hosts.names["near"], "tuntap", "add", "tun0", "mode", "tun"], capture_output=True, text=True)
            if made.returncode != 0:
                self.skipTest(f"no tun interfaces here: {made.stderr.strip()}")
            script = ("import fcntl, os, struct, sys\n"
                      "tun = os.open('/dev/net/tun', os.O_RDWR)\n"
                      "fcntl.ioctl(tun, 0x400454ca, struct.pack('16sH', b'tun0', 0x1001))\n"
                      "print('ready', flush=True)\n"
                      "for line in sys.stdin: os.write(tun, bytes.fromhex(line))\n")
            tun = subprocess.Popen(hosts.within("near", "python3", "-c", script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                if tun.stdout.readline().strip() != "ready":
                    self.skipTest("/dev/net/tun cannot be opened here")
                hosts.link("near", "tun0", "up")
                probe = hosts.probe("near", "ring", "interface=tun0", "filter=udp port 4791")
                packets = [udp(port)[14:] for port in (4791, 53, 4791)]
                for packet in packets:
                    tun.stdin.write(packet.hex() + "\n")
                tun.stdin.flush()
                seen, _ = probe.read()
                self.assert_same([frame["octets"] for frame in seen], [packets[0], packets[2]])
                self.assertEqual({frame["link_type"] for frame in seen}, {LINKTYPE_RAW})
                self.assertEqual(probe.ask("rdma 7174"), ({}, []))
                for packet in packets:
                    tun.stdin.write(packet.hex() + "\n")
                tun.stdin.flush()
                self.assertEqual(len(probe.read()[0]), 2)
            finally:
                tun.kill()
                tun.communicate()

    def test_a_super_frame_has_its_length(self):
        """veth hands segments on in one piece: the frame is longer than any on a wire, and than the snap length."""
        octets = 3000000
        with Hosts() as hosts:
            for host, address in (("near", path.NEAR_ADDRESS), ("far", path.FAR_ADDRESS)):
                hosts.ip("-n", hosts.names[host], "addr", "add", f"{address}/24", "dev", "eth0")
            probe = hosts.probe("far", "ring", "interface=eth0", "snaplen=128", "filter=tcp")
            server = subprocess.Popen(hosts.within("far", "python3", "-c", "import socket\ns = socket.create_server(('', 7175))\n"
                                                   "print('ready', flush=True)\nc, _ = s.accept()\ntotal = 0\n"
                                                   "while got := c.recv(1 << 20): total += len(got)\nprint(total)"),
                                      stdout=subprocess.PIPE, text=True)
            self.assertEqual(server.stdout.readline().strip(), "ready")
            hosts.run("near", "python3", "-c", f"import socket\ns = socket.create_connection(('{path.FAR_ADDRESS}', 7175))\ns.sendall(bytes({octets}))")
            self.assertEqual(server.communicate(timeout=PATIENCE_SECONDS)[0].strip(), str(octets))
            seen, _ = probe.read()
            into = [frame for frame in seen if frame["direction"] == "in"]
            self.assertTrue(all(len(frame["octets"]) <= 128 for frame in seen))
            self.assertEqual(sum(frame["length"] - 34 - (frame["octets"][46] >> 4) * 4 for frame in into), octets)
            if all(frame["length"] <= 1514 for frame in into):
                self.skipTest("this veth cuts segments itself")

    def test_a_filter_swapped_under_traffic(self):
        """Alternating frames pass while the filter is changed to and fro: of what passes either, not one is lost or comes twice."""
        count = 30000
        numbered = [udp(4791 if number % 2 == 0 else 53, number.to_bytes(4, "big") + bytes(16)) for number in range(count)]
        with Hosts() as hosts:
            probe = hosts.probe("far", "ring", "interface=eth0", "filter=udp port 4791")
            sender = threading.Thread(target=hosts.send, args=("near", numbered))
            sender.start()
            numbers, swaps = [], 0
            while True:
                alive = sender.is_alive()
                seen, _ = probe.read(500, 100 if alive else QUIET_MS)
                numbers += [int.from_bytes(frame["octets"][42:46], "big") for frame in seen]
                if not seen and not alive:
                    break
                swaps += 1
                expression = "udp port 4791 or udp port 53" if swaps % 2 else "udp port 4791"
                self.assertEqual(probe.ask(f"filter {expression}"), ({}, []))
            sender.join()
            self.assertEqual(numbers, sorted(set(numbers)))
            self.assertEqual([number for number in numbers if number % 2 == 0], list(range(0, count, 2)))
            self.assertGreater(swaps, 2)
            self.assertTrue(any(number % 2 for number in numbers), "the wider filter was in force for a while")
            refused, _ = probe.ask("filter no such thing")
            self.assertIn("is not valid", refused["error"])
            hosts.send("near", [udp(4791)])
            self.assertEqual(len(probe.read(1)[0]), 1, "a refused filter changes nothing")

    def test_drops_are_counted(self):
        count = 20000
        with Hosts() as hosts:
            probe = hosts.probe("far", "ring", "interface=eth0", "buffer=65536")
            hosts.send("near", [udp(4791, number.to_bytes(4, "big") + bytes(100)) for number in range(count)])
            seen, _ = probe.read()
            statistics = probe.statistics()[0]
            self.assertGreater(statistics["kernel_dropped"], 0)
            self.assertEqual(len(seen) + statistics["kernel_dropped"], count)
            self.assertEqual(statistics["received"], count)
            again = probe.statistics()[0]
            self.assertEqual(again, statistics, "reading counts does not change them")
            numbers = [int.from_bytes(frame["octets"][42:46], "big") for frame in seen]
            self.assertEqual(numbers, sorted(set(numbers)))
            hosts.send("near", [udp(4791)])
            self.assertEqual(len(probe.read(1)[0]), 1, "it goes on")

    def test_down_and_up_again(self):
        with Hosts() as hosts:
            probe = hosts.probe("far", "ring", "interface=eth0")
            hosts.send("near", [udp(4791)])
            hosts.link("far", "eth0", "down")
            seen, status = probe.read()
            self.assertEqual((len(seen), status), (1, "timeout"))
            hosts.link("far", "eth0", "up")
            hosts.send("near", [udp(4791)] * 3)
            self.assertEqual(len(probe.read(3)[0]), 3)

    def test_removed(self):
        with Hosts() as hosts:
            probe = hosts.probe("far", "ring", "interface=eth0")
            hosts.send("near", [udp(4791)] * 5)
            hosts.ip("-n", hosts.names["far"], "link", "del", "eth0")
            seen, status = probe.read(FOREVER, PATIENCE_SECONDS * 1000)
            self.assertEqual((len(seen), status), (5, "end"))
            self.assertEqual(probe.read(), ([], "end"))
            self.assertEqual(probe.statistics()[0]["received"], 5)

    def test_fanout_shares(self):
        flows = [ethernet(0x0800, ipv4(17, struct.pack("!HHHH", 49152 + flow, 4791, 28, 0) + bytes(20))) for flow in range(64)]
        with Hosts() as hosts:
            probes = [hosts.probe("far", "ring", "interface=eth0", "fanout=77") for _ in range(2)]
            hosts.send("near", flows * 10)
            seen = [[frame["octets"] for frame in probe.read()[0]] for probe in probes]
            self.assertEqual(sorted(seen[0] + seen[1]), sorted(flows * 10))
            self.assertTrue(seen[0] and seen[1])
            self.assertFalse(set(seen[0]) & set(seen[1]), "a flow has one reader")

    def test_what_cannot_be_had_is_said(self):
        with Hosts() as hosts:
            for settings, message in ((["interface=eth7"], "eth7: no such interface; there are: .*eth0"),
                                      (["interface=eth0", "filter=udp prot 1"], "eth0: .*`udp prot 1` is not valid")):
                with self.assertRaisesRegex(AssertionError, message):
                    hosts.probe("far", "ring", *settings)
            probe = hosts.probe("far", "ring", "interface=eth0", "timestamps=hardware")
            self.assertIn("stamped by the system", str(probe.ask("warnings")[0]))
            hosts.link("far", "eth0", "down")
            probe = hosts.probe("far", "ring", "interface=eth0")
            self.assertIn("is down", str(probe.ask("warnings")[0]))


def write_fpdu():
    """RFC 5044 section 4.1, RFC 5041 section 4.2: an RDMA Write of 10 octets; its CRC is not right."""
    return struct.pack("!HBBIQ", 24, 0xc1, 0x40, 0x100, 0x1000) + bytes(10) + bytes(2) + b"\1\2\3\4"


class Taps(unittest.TestCase):
    ssh = tcp(50000, 22, b"SSH-2.0")
    request = b"MPA ID Req Frame" + bytes(4)

    def wait_for(self, probe, kind, interface):
        """Reads on until this happened; what else did, and the frames."""
        deadline, events, frames = time.monotonic() + PATIENCE_SECONDS, [], []
        while time.monotonic() < deadline:
            frames += probe.read(FOREVER, 50)[0]
            events += probe.events()
            if any(event[:2] == [kind, interface] for event in events):
                return events, frames
        raise AssertionError(f"{kind} {interface} did not happen: {events}")

    def wait_for_port(self, probe, port):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while port not in probe.ask("ports")[0]["ports"]:
            self.assertLess(time.monotonic(), deadline)
            probe.read(FOREVER, 50)

    def settle(self, probe, hosts):
        """Reads until the first discovery is over: until SSH does not pass any more."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            hosts.send("near", [self.ssh])
            if not probe.read(1, QUIET_MS)[0]:
                return
        raise AssertionError("all TCP passes for ever")

    def test_interfaces_come_and_go(self):
        with Hosts() as hosts:
            hosts.link("far", "lo", "up")
            probe = hosts.probe("far", "tap")
            self.assertEqual([event[:2] for event in probe.events()], [["opened", "eth0"]])
            hosts.send("near", [udp(4791)] * 3)
            seen, _ = probe.read(3)
            self.assertEqual([(frame["interface"], frame["number"]) for frame in seen], [(0, 1), (0, 2), (0, 3)])
            hosts.join("eth1")
            self.wait_for(probe, "opened", "eth1")
            hosts.send("near", [udp(4791)] * 2, "eth1")
            seen, _ = probe.read(2)
            self.assertEqual([(frame["interface"], frame["number"]) for frame in seen], [(1, 4), (1, 5)])
            hosts.send("near", [udp(4791)] * 4)
            hosts.ip("-n", hosts.names["far"], "link", "del", "eth0")
            _, seen = self.wait_for(probe, "lost", "eth0")
            self.assertEqual([(frame["interface"], frame["number"]) for frame in seen], [(0, 6), (0, 7), (0, 8), (0, 9)])
            hosts.join("eth0")
            self.wait_for(probe, "opened", "eth0")
            hosts.send("near", [udp(4791)])
            seen, _ = probe.read(1)
            self.assertEqual([(frame["interface"], frame["number"]) for frame in seen], [(0, 10)])
            self.assertEqual([(each["interface"], each["received"]) for each in probe.statistics()], [("eth0", 8), ("eth1", 2)])

    def test_renamed(self):
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "interface=eth*", "interface=new")
            probe.events()
            hosts.link("far", "eth0", "down")
            hosts.link("far", "eth0", "name", "new")
            hosts.link("far", "new", "up")
            self.wait_for(probe, "opened", "new")
            hosts.send("near", [udp(4791)])
            self.assertEqual([frame["interface"] for frame in probe.read()[0]], [1])

    def test_bridges_do_not_count_twice(self):
        with Hosts() as hosts:
            made = subprocess.run(["ip", "-n", hosts.names["far"], "link", "add", "br0", "type", "bridge"], capture_output=True, text=True)
            if made.returncode != 0:
                self.skipTest(f"no bridges here: {made.stderr.strip()}")
            hosts.link("far", "br0", "up")
            hosts.link("far", "eth0", "master", "br0")
            probe = hosts.probe("far", "tap")
            hosts.send("near", [udp(4791)] * 3)
            self.assertEqual([frame["interface"] for frame in probe.read()[0]], [0] * 3)
            self.assertEqual([each["interface"] for each in probe.statistics()], ["eth0"])

    def test_ports_are_learnt_from_start_frames(self):
        with Hosts() as hosts:
            hosts.join("eth1")
            probe = hosts.probe("far", "tap", "port=7000", "discovery_ms=0")
            data = [tcp(50000, 7174, b"data"), tcp(7174, 50000, b"answer"), tcp(50000, 7000, b"known"), self.ssh]
            hosts.send("near", data)
            self.assertEqual([frame["octets"] for frame in probe.read()[0]], data[2:3])
            hosts.send("near", [tcp(50000, 7174, self.request)])
            self.wait_for_port(probe, 7174)
            self.assertEqual(probe.ask("ports")[0]["ports"], [7000, 7174])
            self.assertIn(["narrowed", ""], [event[:2] for event in probe.events()])
            for interface in ("eth0", "eth1"):  # on all of them, at once
                hosts.send("near", data, interface)
                self.assertEqual([frame["octets"] for frame in probe.read()[0]], data[:3])

    def test_discovery_finds_what_was_there_before(self):
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "discovery_ms=1000", "period_ms=0")
            hosts.send("near", [tcp(50000, 7174, write_fpdu(), sequence=1 + 32 * i) for i in range(4)] + [self.ssh])
            self.wait_for_port(probe, 7174)
            self.settle(probe, hosts)
            hosts.send("near", [self.ssh, tcp(7174, 50000, b"x")])
            self.assertEqual([frame["octets"] for frame in probe.read()[0]], [tcp(7174, 50000, b"x")])
            self.assertEqual(probe.ask("ports")[0]["ports"], [7174])

    def test_discovery_comes_again(self):
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "discovery_ms=300", "period_ms=3000")
            self.settle(probe, hosts)
            deadline = time.monotonic() + PATIENCE_SECONDS
            sequence = 1
            while probe.ask("ports")[0]["ports"] != [7174]:
                self.assertLess(time.monotonic(), deadline)
                hosts.send("near", [tcp(50000, 7174, write_fpdu(), sequence=sequence + 32 * i) for i in range(4)])
                sequence += 4 * 32
                probe.read(FOREVER, 20)

    def test_reconfigured_without_a_gap(self):
        count = 30000
        numbered = [udp(4791, number.to_bytes(4, "big") + bytes(16)) for number in range(count)]
        with Hosts() as hosts:
            hosts.join("eth1")
            probe = hosts.probe("far", "tap", "interface=eth0")
            sender = threading.Thread(target=hosts.send, args=("near", numbered))
            sender.start()
            numbers, turn = [], 0
            settings = ["interface=eth*", "interface=eth0 everything snaplen=100", "interface=eth0 filter=udp", "interface=eth[01] snaplen=64"]
            while True:
                alive = sender.is_alive()
                seen, _ = probe.read(500, 100 if alive else QUIET_MS)
                numbers += [int.from_bytes(frame["octets"][42:46], "big") for frame in seen]
                if not seen and not alive:
                    break
                self.assertEqual(probe.ask("reconfigure " + settings[turn % len(settings)]), ({}, []))
                turn += 1
            sender.join()
            self.assertEqual(numbers, list(range(count)))
            self.assertGreaterEqual(turn, 4)
            refused, _ = probe.ask("reconfigure interface=eth0 filter=nonsense(")
            self.assertIn("is not valid", refused["error"])
            hosts.send("near", [udp(4791)])
            self.assertEqual(len(probe.read(1)[0]), 1)

    def test_a_busy_interface_starves_none(self):
        with Hosts() as hosts:
            hosts.join("eth1")
            probe = hosts.probe("far", "tap", "filter=udp")
            hosts.send("near", [udp(4791)], "eth1")  # its block is closed long before the others are sent
            hosts.send("near", [udp(4791)] * 20000)
            seen, _ = probe.read(1000)
            self.assertEqual([each["interface"] for each in probe.statistics()], ["eth0", "eth1"])
            self.assertEqual([frame["interface"] for frame in seen].count(1), 1)

    def test_wake(self):
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap")
            probe.ask("wait_ms 1000000000")
            probe.ask("wake 300")
            self.assertEqual(probe.ask("skim 1 1")[0], {"frames": 0, "status": "timeout"})

    def test_what_cannot_be_had_is_said(self):
        with Hosts() as hosts:
            with self.assertRaisesRegex(AssertionError, "`nonsense..` is not valid"):
                hosts.probe("far", "tap", "filter=nonsense((")
            probe = hosts.probe("far", "tap", "interface=nothing")
            self.assertEqual(probe.read(1, 200), ([], "timeout"))
            self.assertEqual(probe.events(), [])


if __name__ == "__main__":
    unittest.main()
