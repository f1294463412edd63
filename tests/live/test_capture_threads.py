"""Several rings on one interface: each pair of hosts comes to one ring, in both directions, and what is delivered, measured and
exported does not depend on the number of rings."""
import json
import os
import signal
import struct
import threading
import time
import unittest

from frames import ethernet, with_tags
from hosts import Hosts, needs_hosts
from path import PATIENCE_SECONDS
from side_by_side import load_tests
from test_daemon import Daemon, Wire, told
from test_learning import PCAPS, Host, Net, Tool, added


def setUpModule():
    needs_hosts()


def address(host, version):
    return struct.pack("!I", 0x0a000000 + host) if version == 4 else bytes.fromhex("20010db8") + bytes(8) + struct.pack("!I", host)


def packet(source, destination, protocol, payload, version=4, fragment=0):
    ends = address(source, version) + address(destination, version)
    if version == 4:
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 7, fragment, 64, protocol, 0) + ends
    else:
        header = struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + ends
    return ethernet(0x0800 if version == 4 else 0x86dd, header + payload)


def roce(port, psn):
    """UDP and a BTH: data and acknowledgements of a queue pair have source ports of their own."""
    return struct.pack("!HHHHBBHII", port, 4791, 28, 0, 4, 0, 0xffff, 17, psn) + bytes(4)


def with_macs(frame, source, destination):
    return b"\x02" + destination.to_bytes(5, "big") + b"\x02" + source.to_bytes(5, "big") + frame[12:]


def of_pair(one, other):
    """What two hosts exchange, each direction by itself."""
    def sent(source, destination):
        frames = [packet(source, destination, 17, roce(port, psn), version) for version in (4, 6) for port in (49152, 50000) for psn in (1, 2)]
        frames += [packet(source, destination, 6, struct.pack("!HHIIBBHHH", 50000, 7174, 1, 1, 0x50, 2, 512, 0, 0))]
        frames += [packet(source, destination, 17, roce(49152, 1) + bytes(1000), fragment=0x2000), packet(source, destination, 17, bytes(300), fragment=130)]
        frames += [with_tags(frames[0], (0x8100, 5)), with_tags(frames[0], (0x88a8, 5), (0x8100, 6)), with_tags(frames[4], (0x8100, 5))]
        return frames
    return sent(one, other), sent(other, one)


def ends(octets):
    """The unordered pair of hosts of a frame, and the version of IP, which may have another ring."""
    at = 12
    while octets[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    if octets[at:at + 2] == b"\x08\x00":
        return 4, frozenset((octets[at + 14:at + 18], octets[at + 18:at + 22]))
    if octets[at:at + 2] == b"\x86\xdd":
        return 6, frozenset((octets[at + 10:at + 26], octets[at + 26:at + 42]))
    return 0, frozenset((octets[:6], octets[6:12]))


class Rings(unittest.TestCase):
    def test_a_pair_of_hosts_has_one_ring_in_both_directions(self):
        """Frames that arrive and frames that leave are at other places when the kernel chooses the ring."""
        pairs = [of_pair(1 + i, 100 + 7 * i) for i in range(24)]
        there = [frame for one, _ in pairs for frame in one]
        back = [frame for _, other in pairs for frame in other]
        there += [with_macs(ethernet(0x8915, bytes(60)), i, 50 + 3 * i) for i in range(24)]
        back += [with_macs(ethernet(0x8915, bytes(60)), 50 + 3 * i, i) for i in range(24)]
        with Hosts() as hosts:
            probes = [hosts.probe("far", "ring", "interface=eth0", "snaplen=0", "fanout=77") for _ in range(3)]
            self.assertEqual(probes[0].ask("deal 3")[0], {})
            hosts.send("near", there)
            hosts.send("far", back)
            seen = [[frame["octets"] for frame in probe.read()[0]] for probe in probes]
            self.assertEqual(sorted(sum(seen, [])), sorted(there + back), "each frame comes to one ring")
            rings = [{ends(octets) for octets in frames} for frames in seen]
            self.assertEqual(sum(map(len, rings)), len(set.union(*rings)), "a pair of hosts has one ring")
            for version in (0, 4, 6):
                self.assertTrue(all(any(kind == version for kind, _ in ring) for ring in rings), f"version {version} is dealt to all of them")

    def test_a_ring_that_joins_gets_nothing_before_it_is_dealt_to(self):
        frames = [packet(1, 10 + i, 17, roce(49152, i)) for i in range(64)]
        with Hosts() as hosts:
            probes = [hosts.probe("far", "ring", "interface=eth0", "fanout=78") for _ in range(2)]
            hosts.send("near", frames)
            self.assertEqual([frame["octets"] for frame in probes[0].read(len(frames))[0]], frames)
            self.assertEqual(probes[1].read()[0], [])


class Delivered(unittest.TestCase):
    """A tap with several rings delivers what a tap with one delivers, in the same order."""

    def check(self, **environment):
        frames = [frame for i in range(40) for frame in of_pair(1 + i % 8, 100 + i)[0]]
        os.environ.update(environment)
        try:
            with Hosts() as hosts:
                settings = ("tap", "interface=eth0", "snaplen=0", "everything")
                one, *several = [hosts.probe("far", *settings, f"threads={threads}") for threads in (1, 2, 4)]
                for _ in range(3):
                    hosts.send("near", frames)
                expected = one.read(3 * len(frames))[0]
                self.assertEqual([frame["octets"] for frame in expected], frames * 3)
                for probe in several:
                    seen = probe.read(3 * len(frames))[0]
                    self.assertEqual([(frame["number"], frame["octets"]) for frame in seen],
                                     [(frame["number"], frame["octets"]) for frame in expected])
                    self.assertEqual(probe.statistics()[0]["received"], len(expected))
                    self.assertEqual(probe.statistics()[0]["kernel_dropped"], 0)
                self.assertIn("with 4 threads", str(several[-1].events()))
        finally:
            for name in environment:
                del os.environ[name]

    def test_in_the_same_order(self):
        self.check()

    def test_in_the_same_order_without_ebpf(self):
        self.check(RDMASCOPE_EBPF="off")

    def test_filters_hold_for_all_rings(self):
        frames = [packet(1, 10 + i, 17, roce(49152, i)) for i in range(32)]
        others = [packet(1, 10 + i, 17, struct.pack("!HHHH", 53, 53, 28, 0) + bytes(20)) for i in range(32)]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "interface=eth0", "threads=3")
            hosts.send("near", others + frames)
            self.assertEqual([frame["octets"] for frame in probe.read(len(frames))[0]], frames)
            self.assertEqual(probe.ask("reconfigure interface=eth0 threads=3 everything")[0], {})
            hosts.send("near", others + frames)
            self.assertEqual([frame["octets"] for frame in probe.read(2 * len(frames))[0]], others + frames)

    def test_an_interface_that_goes_and_comes_back(self):
        frames = [packet(1, 10 + i, 17, roce(49152, i)) for i in range(32)]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "interface=eth*", "threads=3")
            hosts.send("near", frames)
            hosts.ip("-n", hosts.names["far"], "link", "del", "eth0")
            self.assertEqual([frame["octets"] for frame in probe.read(len(frames))[0]], frames)
            kinds = []
            deadline = time.monotonic() + PATIENCE_SECONDS
            while "lost" not in kinds:
                self.assertLess(time.monotonic(), deadline)
                probe.read(1, 100)
                kinds += [kind for kind, *_ in probe.events()]
            hosts.join()
            while "opened" not in kinds[kinds.index("lost"):]:
                self.assertLess(time.monotonic(), deadline)
                probe.read(1, 100)
                kinds += [kind for kind, *_ in probe.events()]
            hosts.send("near", frames)
            self.assertEqual([frame["octets"] for frame in probe.read(len(frames))[0]], frames)
            self.assertEqual(probe.statistics()[0]["received"], 2 * len(frames))

    def test_threads_are_added_under_load(self):
        """Each frame comes once while one ring becomes several. The kernel gives each frame that comes late a block of its own: few
        frames fill half of a ring of 16 blocks that no process reads."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor: there is nothing to share")
        frames = [packet(1, 10 + i, 17, roce(49152, i)) for i in range(13)]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "interface=eth0", "everything", "threads=0", f"buffer={16 << 20}")
            hosts.send("near", frames)
            self.assertEqual(len(probe.read(len(frames))[0]), len(frames))
            self.assertNotIn("threads", str(probe.events()))
            hosts.send("near", frames, pause=0.025)
            seen = probe.read(len(frames))[0]
            hosts.send("near", frames)
            seen += probe.read(len(frames))[0]
            self.assertEqual([frame["octets"] for frame in seen], frames * 2)
            self.assertIn("eth0: its load demands 2 threads from now on", str(probe.events()))
            self.assertEqual(probe.statistics()[0]["kernel_dropped"], 0)


def exported(daemon):
    series = daemon.series()
    return {(name, pairs): value for (name, pairs), value in series.items()
            if name.startswith("rdma_") and name.endswith("_total")}


@unittest.skipIf(os.environ.get("RDMASCOPE_EBPF") == "off", "exact figures need connections that are learnt in the kernel")
class Measured(unittest.TestCase):
    """Messages and bytes are those that the endpoints counted, for any number of threads."""

    def test_connections_in_both_directions(self):
        hosts = 4
        with Net() as net:
            for host in ("near", "far"):
                for number in range(2, hosts + 2):
                    prefix = "10.78.1." if host == "near" else "10.78.2."
                    net.run(host, "ip", "addr", "add", f"{prefix}{number}/16", "dev", "eth0")
            for number in range(2, hosts + 2):
                net.serve("far", f"10.78.2.{number}")
                net.serve("near", f"10.78.1.{number}")
            with Daemon(Host(net, "far"), interfaces=("eth0",), config="[capture]\nthreads = 4\n") as daemon, \
                    Tool(net, "flows", "--json", "--threads", "1") as one, Tool(net, "flows", "--json", "--threads", "2") as two:
                reports, workers = [], []

                def bench(host, address, operation):
                    reports.append((host, net.bench(host, address, operation, "--size", "9000", "--count", "50", "--connections", "4")))

                for number in range(2, hosts + 2):
                    for host, address in (("near", f"10.78.2.{number}"), ("far", f"10.78.1.{number}")):
                        for operation in ("write", "send"):
                            workers.append(threading.Thread(target=bench, args=(host, address, operation)))
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                self.assertEqual(len(reports), len(workers), "all of them have ended well")
                self.wait_for_quiet(one, two)
                documents = [json.loads(tool.end()) for tool in (one, two)]
                for host, direction in (("near", "receive"), ("far", "transmit")):
                    expected = added(*(report for name, report in reports if name == host))
                    self.assertEqual(expected["write"][0], 50 * 4 * hosts)
                    daemon.wait_for(f"the figures of {host}", lambda: self.of_daemon(daemon, "write", direction) == expected["write"])
                self.assertEqual(daemon.dropped_by_kernel(), 0)
                self.assertIn("with 4 threads", daemon.log())
                figures = [sorted((flow["source"]["address"], flow["source"]["port"], flow["destination"]["address"], flow["destination"]["port"],
                                   flow["packets"], flow["wire_bytes"], json.dumps({operation: each and (each["count"], each["bytes"])
                                                                                    for operation, each in flow["messages"].items()}))
                                  for flow in document["flows"]) for document in documents]
                self.assertEqual(*(sorted(set(these) - set(those)) for these, those in (figures, figures[::-1])), "what only one of them has")
                self.assertEqual(documents[0]["capture"]["rdma_units"], documents[1]["capture"]["rdma_units"])
                self.assertEqual([document["capture"]["kernel_dropped"] for document in documents], [0, 0])
                sent = added(*(report for name, report in reports if name == "near"))
                self.assertEqual(sum(each["messages"]["write"]["count"] for each in documents[1]["flows"]
                                     if each["messages"]["write"] and each["destination"]["address"].startswith("10.78.2.")), sent["write"][0])

    def wait_for_quiet(self, *tools):
        """The last acknowledgements and ends of connections may come after the programs' ends."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        before, now = None, [tool.packets() for tool in tools]
        while now != before:
            self.assertLess(time.monotonic(), deadline, f"{now} packets")
            time.sleep(0.5)
            before, now = now, [tool.packets() for tool in tools]

    def of_daemon(self, daemon, operation, direction):
        series = daemon.series()
        return tuple(int(sum(value for (name, labels), value in series.items()
                             if name == wanted and {("op", operation), ("direction", direction)} <= labels))
                     for wanted in ("rdma_messages_total", "rdma_message_bytes_total"))

    def test_the_daemon_adds_threads_after_it_gave_up_its_rights(self):
        """It stands still while frames fill half of its ring."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor: there is nothing to share")
        frames = [packet(1, 10 + i, 17, roce(49152, i)) for i in range(13)]
        with Hosts() as hosts:
            hosts.link("far", "lo", "up")
            with Daemon(Host(hosts, "far"), interfaces=("eth0",), config='[capture]\nthreads = "auto"\nbuffer = "16MiB"\n') as daemon:
                daemon.process.send_signal(signal.SIGSTOP)
                hosts.send("near", frames, pause=0.025)
                daemon.process.send_signal(signal.SIGCONT)
                daemon.wait_for("the threads", lambda: "its load demands 2 threads from now on" in daemon.log())
                hosts.send("near", frames)
                daemon.wait_for("the frames", lambda: daemon.total("rdmascope_captured_packets_total") >= 2 * len(frames))
                self.assertEqual(daemon.total("rdmascope_captured_packets_total"), 2 * len(frames))
                self.assertEqual(daemon.dropped_by_kernel(), 0)

    def test_roce_is_the_same_for_any_number(self):
        captures = ("rxe-send-bw-64.pcap", "rxe-write-bw-64k.pcap", "rxe-read-bw-4k.pcap.gz")
        captures = [name for name in captures if (PCAPS / name).exists()]
        totals = []
        for threads in (1, 4):
            with Wire() as wire, Daemon(wire, config=f"[capture]\nthreads = {threads}\n") as daemon:
                for capture in captures:
                    wire.play(capture)
                packets = sum(sum(flow["packets"] for flow in told("flows", "-n", "--json", "-K", "-r", PCAPS / capture)["flows"]) for capture in captures)
                daemon.captured(packets)
                self.assertEqual(daemon.total("rdma_packets_total"), packets)
                self.assertEqual(daemon.dropped_by_kernel(), 0)
                totals.append({key: value for key, value in exported(daemon).items() if "seconds" not in key[0]})
        self.assertEqual(totals[0], totals[1])


if __name__ == "__main__":
    unittest.main()
