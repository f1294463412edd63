"""What a tap delivers of interfaces that come and go, and which ports it learns, compared with what a raw socket sent."""
import os
import pathlib
import struct
import subprocess
import threading
import time
import unittest

from frames import frames_of, tcp, udp
from hosts import FOREVER, QUIET_MS, Hosts, needs_hosts
from path import PATIENCE_SECONDS
from side_by_side import load_tests


def setUpModule():
    needs_hosts()


def write_fpdu():
    """RFC 5044 section 4.1, RFC 5041 section 4.2: an RDMA Write of 10 octets; its CRC is not right."""
    return struct.pack("!HBBIQ", 24, 0xc1, 0x40, 0x100, 0x1000) + bytes(10) + bytes(2) + b"\1\2\3\4"


def octets_of(capture):
    return [octets for octets, *_ in frames_of(pathlib.Path(os.environ["RDMASCOPE_PCAPS"]) / capture)]


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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

    def test_numbers_of_those_that_have_gone_are_given_away(self):
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "rest_ms=0")
            probe.events()
            for name in ("eth1", "eth2", "eth3"):
                hosts.join(name)
                self.wait_for(probe, "opened", name)
                hosts.send("near", [udp(4791)] * 2, name)
                self.assertEqual([frame["interface"] for frame in probe.read(2)[0]], [1, 1])
                self.assertEqual([(each["interface"], each["received"]) for each in probe.statistics()], [("eth0", 0), (name, 2)])
                hosts.ip("-n", hosts.names["far"], "link", "del", name)
                self.wait_for(probe, "lost", name)

    def test_hosts_that_make_many_of_them(self):
        """More have gone than this process may have files open: it still sleeps while nothing passes."""
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "files=20")
            for first in range(0, 24, 6):
                names = [f"many{first + more}" for more in range(6)]
                for name in names:
                    hosts.join(name)
                self.wait_for(probe, "opened", names[-1])
                for name in names:
                    hosts.ip("-n", hosts.names["far"], "link", "del", name)
                self.wait_for(probe, "lost", names[-1])
            before = processor_seconds(probe.process.pid)
            self.assertEqual(probe.read(FOREVER, 2000)[0], [])
            self.assertLess(processor_seconds(probe.process.pid) - before, 0.5)
            hosts.send("near", [udp(4791)])
            self.assertEqual([frame["interface"] for frame in probe.read(1)[0]], [0])

    def test_connection_management_is_kept_whole(self):
        """InfiniBand's management datagrams have 256 octets after the headers; annex A17 has their port and queue pair 1."""
        sent = [octets for octets in octets_of("rxe-ucmatose.pcap") if octets[36:38] == b"\x12\xb7"]
        tagged = [octets[:12] + b"\x81\0\0\7" + octets[12:] for octets in sent]
        management = [octets for octets in sent if octets[47:50] == b"\0\0\1"]
        self.assertGreaterEqual(len(management), 12)
        self.assertGreater(len(sent), len(management))
        for settings in ([], ["filter=udp or vlan"], ["everything=1"]):
            with Hosts() as hosts:
                probe = hosts.probe("far", "tap", "snaplen=100", *settings)
                hosts.send("near", sent, pause=0.001)
                expected = [octets if octets in management else octets[:100] for octets in sent]
                self.assertEqual([frame["octets"] for frame in probe.read(len(sent))[0]], expected)
                hosts.send("near", tagged, pause=0.001)
                for octets, frame in zip(tagged, probe.read(len(tagged))[0]):
                    # The tag may take the place of the last octets, of the ICRC.
                    whole = octets[:12] + octets[16:] in management
                    self.assertEqual(frame["octets"], octets[:len(frame["octets"])])
                    self.assertGreaterEqual(len(frame["octets"]), len(octets) - 4 if whole else min(len(octets) - 4, 96))
                    self.assertLessEqual(len(frame["octets"]), len(octets) if whole else 100)

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
