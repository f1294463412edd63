"""What packet rings deliver of real interfaces, compared with what a raw socket sent and with what tcpdump saw."""
import os
import pathlib
import struct
import subprocess
import threading
import time
import unittest

import path
from frames import ethernet, frames_of, tcp, udp, with_tags
from hosts import FOREVER, QUIET_MS, Hosts, Tcpdump, needs_hosts
from path import PATIENCE_SECONDS
from side_by_side import load_tests

PCAPS = pathlib.Path(os.environ["RDMASCOPE_PCAPS"])
LINKTYPE_ETHERNET, LINKTYPE_RAW = 1, 101


def setUpModule():
    needs_hosts()


def mixed_traffic():
    """RoCE and iWARP of real captures, tags of every kind, the shortest and longest frames."""
    frames = [octets for name in ("rxe-rping.pcap", "siw-verbs-srq.pcap", "made-roce-carriers.pcap", "siw-gso-tcpdump-A.pcap")
              for octets, length in frames_of(PCAPS / name) if len(octets) == length <= 1514]
    for size in (46, 100, 1482):
        frames += [with_tags(udp(4791, bytes(size - 28)), *tags) for tags in
                   ([(0x8100, 0x6005)], [(0x8100, 0x0000)], [(0x88a8, 0x0007), (0x8100, 0xefff)], [(0x88a8, 0x0001)])]
    return frames


def to_management(octets):
    """Whether it is RoCE's packet to queue pair 1: connection management, kept whole by any snap length."""
    at = 12
    while octets[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, at = octets[at:at + 2], at + 2
    if kind == b"\x89\x15":
        at += 40
    elif kind == b"\x08\x00" and octets[at + 9] == 17 and octets[at + 22:at + 24] == b"\x12\xb7":
        at += 28
    elif kind == b"\x86\xdd" and octets[at + 6] == 17 and octets[at + 42:at + 44] == b"\x12\xb7":
        at += 48
    else:
        return False
    return octets[at + 5:at + 8] == b"\x00\x00\x01"


def snapped(frames, octets):
    return [frame[:max(octets, 512) if to_management(frame) else octets] for frame in frames]


def octets_of_stream(frames):
    """How many octets of one direction of a TCP connection came; those that a hurried machine sent again count once."""
    pieces = [(struct.unpack_from("!I", frame["octets"], 38)[0], frame["length"] - 34 - (frame["octets"][46] >> 4) * 4) for frame in frames]
    first = pieces[0][0] + 1
    end = total = 0
    for begin, size in sorted(((sequence - first) % 2**32, size) for sequence, size in pieces[1:] if size > 0):
        total += max(0, begin + size - max(begin, end))
        end = max(end, begin + size)
    return total


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
            self.assert_same([frame["octets"] for frame in seen], snapped(sent, 100))
            self.assertEqual([frame["length"] for frame in seen], [len(octets) for octets in sent])
            self.assertEqual(probe.ask("snaplen 64"), ({}, []))
            hosts.send("near", sent)
            seen, _ = probe.read(len(sent))
            self.assert_same([frame["octets"] for frame in seen], snapped(sent, 64))

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
            self.assertEqual(octets_of_stream(into), octets)
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


if __name__ == "__main__":
    unittest.main()
