"""Frames on a wire: what `replay --inject` sends is what was captured, when it was captured, and what it changes is right
in the eyes of tshark. Two network namespaces and a veth pair between them; nothing leaves the machine."""
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

import path

PCAPS = pathlib.Path(os.environ["RDMASCOPE_PCAPS"])


def setUpModule():
    path.needs_namespaces()
    for tool in ("tcpdump", "tshark"):
        if not shutil.which(tool):
            raise unittest.SkipTest(f"{tool} is not installed: nobody could tell what arrived")


def write_pcap(file, frames, link_type=1):
    """`frames`: (time in ns, octets) or (time in ns, octets, length on the wire)."""
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, link_type))
        for frame in frames:
            when, octets, length = (*frame, len(frame[1]))[:3]
            out.write(struct.pack("<IIII", when // 10**9, when % 10**9, len(octets), length) + octets)


def read_pcap(file):
    """(time in ns, octets) of every frame, by the format's specification."""
    data = pathlib.Path(file).read_bytes()
    order, fraction = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\x4d\x3c\xb2\xa1": ("<", 1)}[data[:4]]
    frames, at = [], 24
    while at < len(data):
        seconds, part, size, _ = struct.unpack_from(order + "IIII", data, at)
        frames.append((seconds * 10**9 + part * fraction, data[at + 16:at + 16 + size]))
        at += 16 + size
    return frames


def capture_octets(name):
    """A capture's frames as tshark writes them: uncompressed, classic pcap."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as plain:
        subprocess.run(["tshark", "-r", PCAPS / name, "-F", "nsecpcap", "-w", plain.name], check=True, capture_output=True)
        return read_pcap(plain.name)


def fields(file, *names, options=()):
    """One row of values a frame, by tshark."""
    wanted = [word for name in names for word in ("-e", name)]
    out = subprocess.run(["tshark", "-r", file, "-T", "fields", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o",
                          "tcp.check_checksum:TRUE", *options, *wanted], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def before_others():
    """What lets a command go before all others of the machine, where we may."""
    first = ("chrt", "--fifo", "10")
    allowed = shutil.which("chrt") and subprocess.run([*first, "true"], check=False, capture_output=True).returncode == 0
    return first if allowed else ()


class Wire(unittest.TestCase):
    MTU = 9000

    def setUp(self):
        self.way = path.Path(mtu=self.MTU)
        self.way.__enter__()
        self.addCleanup(self.way.__exit__)
        for host in ("near", "far"):  # no neighbour discovery among what is compared
            subprocess.run(self.way.within(host, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"), check=False, capture_output=True)
            subprocess.run(["ip", "-n", self.way.names[host], "link", "set", "eth0", "arp", "off"], check=True)
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-inject-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.chmod(self.folder, 0o777)

    def inject(self, *options, status=0, before=()):
        done = self.way.run("near", *before, path.BINARY, "replay", "--inject", "eth0", *options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def arriving(self, *options, status=0, before=()):
        """What tcpdump writes at the other end, and the report."""
        file = self.folder / "far.pcap"
        tcpdump = subprocess.Popen(
            self.way.within("far", "tcpdump", "-i", "eth0", "-Q", "in", "-s", "0", "-B", "65536", "--immediate-mode", "-U", "-Z", "root",
                            "--time-stamp-precision=nano", "-w", file), stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: tcpdump.poll() is None and tcpdump.kill())
        while "listening on" not in (line := tcpdump.stderr.readline()):
            self.assertTrue(line, "tcpdump did not start")
        done = self.inject(*options, "--json", status=status, before=before)
        size = -1
        while size != file.stat().st_size:
            size = file.stat().st_size
            time.sleep(0.2)
        tcpdump.send_signal(signal.SIGINT)
        self.assertIn("0 packets dropped by kernel", tcpdump.communicate(timeout=30)[1])
        return read_pcap(file), json.loads(done.stdout)

    def same(self, rows, expected):
        """As assertEqual, whose comparison of long lists takes minutes to print."""
        self.assertEqual(next(((i, row, wanted) for i, (row, wanted) in enumerate(zip(rows, expected)) if row != wanted), None), None)
        self.assertEqual(len(rows), len(expected))

    def far_file(self):
        return self.folder / "far.pcap"


class Faithful(Wire):
    def test_frames_arrive_octet_for_octet(self):
        for name in ("rxe-write-bw-64k.pcap", "siw-rping-crc.pcap", "made-roce-carriers.pcap", "made-tunnels.pcap", "rxe-send-bw-4k.pcap.gz"):
            sent = [octets for _, octets in capture_octets(name)]
            with self.subTest(name):
                arrived, report = self.arriving(PCAPS / name, "--speed", "max")
                self.same([octets for _, octets in arrived], sent)
                self.assertEqual((report["sent_frames"], report["sent_bytes"]), (len(sent), sum(map(len, sent))))
                self.assertIsNone(report["late_ns"])

    def test_loops(self):
        sent = [octets for _, octets in capture_octets("rxe-rping.pcap")]
        arrived, report = self.arriving(PCAPS / "rxe-rping.pcap", "--speed", "max", "--loop", "3")
        self.same([octets for _, octets in arrived], sent * 3)
        self.assertEqual(report["loops"], 3)

    def timing(self, speed):
        # Gaps of 0.2 to 20 ms, 110 of them: 0.7 s at the original speed.
        gaps = [200_000 * (1 + i * 37 % 100) if i % 3 == 0 else 300_000 for i in range(110)]
        times = [10**18]
        for gap in gaps:
            times.append(times[-1] + gap)
        file = self.folder / "timed.pcap"
        write_pcap(file, [(when, bytes(12) + b"\x88\xb5" + bytes([i]) * 50) for i, when in enumerate(times)])
        # A machine that is busy with other things lets some wait for a processor, unless it may go before them: half of
        # them may, and in one of three attempts it is to be fewer.
        for _ in range(3):
            arrived, report = self.arriving(file, "--speed", speed, before=before_others())
            self.assertEqual([octets[14] for _, octets in arrived], list(range(len(times))))
            shifts = [when - due / float(speed) for (when, _), due in zip(arrived, times)]
            late = sorted(shift - min(shifts) for shift in shifts)
            if late[len(late) // 2] < 1_000_000:
                break
        self.assertLess(late[len(late) // 2], 1_000_000, f"in time by tcpdump's stamps; by our own account {report['late_ns']}")
        if report["late_ns"]["p99"] < 500_000:
            self.assertLess(late[len(late) * 95 // 100], 1_000_000, "what we call in time, tcpdump does, too")
        self.assertGreaterEqual(arrived[-1][0] - arrived[0][0], (times[-1] - times[0]) / float(speed) - 1_000_000)
        self.assertEqual(report["late_ns"]["count"], len(times))
        self.assertAlmostEqual(report["seconds"], (arrived[-1][0] - arrived[0][0]) / 1e9, delta=0.02)

    def test_original_timing(self):
        self.timing("1")

    def test_scaled_timing(self):
        self.timing("4")

    def test_impairments_are_the_same_with_the_same_seed(self):
        file = self.folder / "many.pcap"
        write_pcap(file, [(10**18 + i * 10_000, bytes(12) + b"\x88\xb5" + struct.pack("!I", i) + bytes(60)) for i in range(4000)])
        options = (file, "--speed", "1", "--loss", "5%", "--duplicate", "2%", "--corrupt", "3%", "--reorder", "4%")
        one, report = self.arriving(*options, "--seed", "7")
        same, _ = self.arriving(*options, "--seed", "7")
        other, _ = self.arriving(*options, "--seed", "8")
        self.same([octets for _, octets in one], [octets for _, octets in same])
        self.assertNotEqual([octets for _, octets in one], [octets for _, octets in other])
        impaired = report["impaired"]
        # 200 of 4000 are lost, with a deviation of sqrt(4000 * 0.05 * 0.95) = 13.8: five of them on each side.
        self.assertTrue(131 <= impaired["lost"] <= 269, impaired)
        self.assertEqual(len(one), 4000 - impaired["lost"] + impaired["duplicated"])
        damaged = sum(octets[18:] != bytes(60) for _, octets in one)
        self.assertGreater(damaged, 0)

    def test_rate(self):
        # 500 frames of 1000 octets at 20 Mbit/s take 0.2 s.
        file = self.folder / "burst.pcap"
        write_pcap(file, [(10**18, bytes(12) + b"\x88\xb5" + bytes(986)) for _ in range(500)])
        arrived, report = self.arriving(file, "--rate", "20M")
        self.assertAlmostEqual((arrived[-1][0] - arrived[0][0]) / 1e9, 0.2, delta=0.03)
        self.assertAlmostEqual(report["bits_per_sec"] / 20e6, 1, delta=0.1)

    def test_marks(self):
        arrived, report = self.arriving(PCAPS / "rxe-write-bw-64k-tos.pcap", "--speed", "max", "--mark", "1")
        # ToS 106 says ECT(0): everything that has it can be marked, and tshark finds the header checksums right.
        rows = fields(self.far_file(), "ip.dsfield.ecn", "ip.checksum.status")
        before = fields(PCAPS / "rxe-write-bw-64k-tos.pcap", "ip.dsfield.ecn")
        self.assertEqual(sum(row[0] == "3" for row in rows), report["impaired"]["marked"] + sum(row[0] == "3" for row in before))
        self.assertEqual({row[0] for row, was in zip(rows, before) if was[0] in ("1", "2")}, {"3"})
        self.assertEqual({row[1] for row in rows}, {"1"})


class Rewritten(Wire):
    RULES = ("--rewrite", "ip:192.0.2.1=10.9.8.7", "--rewrite", "ip.dst:192.0.2.2=10.9.8.6", "--rewrite", "mac.dst:any=02:00:00:00:00:77")

    def icrcs(self, file):
        """Good and bad ICRCs by our own dump, and by tshark's arithmetic where it shows any."""
        out = subprocess.run([path.BINARY, "dump", "-r", file, "-T", "fields", "-e", "rdma.icrc.status"], check=True, capture_output=True,
                             text=True).stdout.split()
        return out.count("1"), out.count("0")

    def test_roce(self):
        name = PCAPS / "rxe-write-bw-4k.pcap.gz"
        qpns = {row[0] for row in fields(name, "infiniband.bth.destqp", options=("-Y", "infiniband.bth.opcode == 6"))}
        self.assertEqual(len(qpns), 1)
        old = qpns.pop()
        arrived, report = self.arriving(name, "--speed", "max", *self.RULES, "--rewrite", f"qpn.dst:{old}=0xabcdef", "--rewrite",
                                        "port.src:any=50000")
        self.assertEqual(report["rewritten"], len(arrived))
        before = fields(name, "ip.src", "ip.dst", "infiniband.bth.destqp", "infiniband.bth.psn")
        after = fields(self.far_file(), "ip.src", "ip.dst", "infiniband.bth.destqp", "infiniband.bth.psn")
        source = {"192.0.2.1": "10.9.8.7"}
        target = {"192.0.2.1": "10.9.8.7", "192.0.2.2": "10.9.8.6"}
        expected = [[source.get(row[0], row[0]), target.get(row[1], row[1]), "0xabcdef" if row[2] == old else row[2], row[3]] for row in before]
        self.same(after, expected)
        self.assertEqual({row[0] for row in fields(self.far_file(), "eth.dst")}, {"02:00:00:00:00:77"})
        self.assertEqual({row[0] for row in fields(self.far_file(), "udp.srcport")}, {"50000"})
        self.assertEqual({row[0] for row in fields(self.far_file(), "ip.checksum.status")}, {"1"})
        good, bad = self.icrcs(self.far_file())
        self.assertEqual((good, bad), (sum(row[2] != "" for row in before), 0))

    def test_roce_over_ipv6(self):
        arrived, _ = self.arriving(PCAPS / "rxe-write-bw-4k-ipv6.pcap.gz", "--speed", "max", "--rewrite", "ip:2001:db8::1=fd00::1:2")
        sources = {row[0] for row in fields(self.far_file(), "ipv6.src", options=("-Y", "infiniband"))}
        self.assertEqual(sources, {"fd00::1:2", "2001:db8::2"})
        good, bad = self.icrcs(self.far_file())
        self.assertGreater(good, 1000)
        self.assertEqual(bad, 0)

    def test_what_was_wrong_stays_wrong(self):
        # The lab's path flipped bits: some ICRCs are bad, the same ones afterwards.
        name = PCAPS / "rxe-corrupt-send-bw.pcap.gz"
        before = self.icrcs(name)
        self.assertGreater(before[1], 0)
        self.arriving(name, "--speed", "max", *self.RULES, "--rewrite", "port.src:any=50001")
        self.assertEqual(self.icrcs(self.far_file()), before)

    def test_tcp_checksums(self):
        name = PCAPS / "siw-rping-crc.pcap"
        arrived, _ = self.arriving(name, "--speed", "max", *self.RULES, "--rewrite", "port:7174=7175")
        rows = fields(self.far_file(), "tcp.checksum.status", "ip.checksum.status", options=("-Y", "tcp"))
        self.assertEqual({tuple(row) for row in rows}, {("1", "1")})
        ports = {port for row in fields(self.far_file(), "tcp.srcport", "tcp.dstport", options=("-Y", "tcp")) for port in row}
        self.assertNotIn("7174", ports)
        self.assertIn("7175", ports)

    def test_unfinished_checksums_are_finished(self):
        # As a capture at the sender sees them: the sum of the pseudo-header alone.
        segment = struct.pack("!HHIIBBHHH", 1000, 2000, 1, 0, 0x50, 0x18, 100, 0, 0) + b"payload"
        pseudo = bytes([192, 0, 2, 1, 192, 0, 2, 2, 0, 6, 0, len(segment)])
        total = sum(struct.unpack("!6H", pseudo))
        total = (total & 0xffff) + (total >> 16)
        segment = segment[:16] + struct.pack("!H", total) + segment[18:]
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0, 64, 6, 0) + pseudo[:8]
        checksum = sum(struct.unpack("!10H", header))
        checksum = ~((checksum & 0xffff) + (checksum >> 16)) & 0xffff
        frame = bytes(12) + b"\x08\x00" + header[:10] + struct.pack("!H", checksum) + header[12:] + segment
        file = self.folder / "partial.pcap"
        write_pcap(file, [(10**18, frame)])
        self.assertEqual(fields(file, "tcp.checksum.status", "ip.checksum.status"), [["0", "1"]])
        self.arriving(file, *self.RULES)
        self.assertEqual(fields(self.far_file(), "tcp.checksum.status", "ip.checksum.status"), [["1", "1"]])

    def test_frames_without_an_ethernet_header_get_one(self):
        for name in ("made-raw-ip.pcap", "made-sll.pcap", "made-sll2.pcap", "made-null.pcap"):
            with self.subTest(name):
                refused = self.inject(PCAPS / name, status=1)
                self.assertIn("--ether DST[,SRC] says which to make", refused.stderr)
                arrived, _ = self.arriving(PCAPS / name, "--speed", "max", "--ether", "02:00:00:00:00:02,02:00:00:00:00:01")
                self.assertEqual({octets[:12] for _, octets in arrived}, {bytes.fromhex("020000000002020000000001")})
                # The packets are the same by tshark.
                names = ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.invariant.crc")
                self.same(fields(self.far_file(), *names), fields(PCAPS / name, *names))

    def test_other_links_are_refused(self):
        done = self.inject(PCAPS / "made-infiniband.pcap", status=1)
        self.assertIn("of a link that is no Ethernet", done.stderr)


class Refused(Wire):
    MTU = 1500

    def test_the_default_route(self):
        near = self.way.names["near"]
        subprocess.run(["ip", "-n", near, "route", "add", "default", "via", path.FAR_ADDRESS], check=True)
        done = self.inject(PCAPS / "rxe-rping.pcap", status=1)
        self.assertIn("eth0: the default route goes this way (IPv4 by eth0)", done.stderr)
        self.assertEqual(done.stdout, "")
        arrived, _ = self.arriving(PCAPS / "rxe-rping.pcap", "--speed", "max", "--force")
        self.same([octets for _, octets in arrived], [octets for _, octets in capture_octets("rxe-rping.pcap")])

    def test_a_default_route_in_another_table(self):
        near = self.way.names["near"]
        subprocess.run(["ip", "-n", near, "route", "add", "default", "via", path.FAR_ADDRESS, "table", "77"], check=True)
        self.assertIn("IPv4 by eth0", self.inject(PCAPS / "rxe-rping.pcap", status=1).stderr)

    def test_the_default_route_of_ipv6(self):
        near = self.way.names["near"]
        subprocess.run(self.way.within("near", "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=0", "net.ipv6.conf.eth0.disable_ipv6=0"), check=True)
        made = subprocess.run(["ip", "-n", near, "-6", "route", "add", "default", "dev", "eth0"], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"no IPv6 here: {made.stderr}")
        self.assertIn("IPv6 by eth0", self.inject(PCAPS / "rxe-rping.pcap", status=1).stderr)

    def test_the_port_of_a_bridge_with_the_default_route(self):
        near = self.way.names["near"]
        made = subprocess.run(["ip", "-n", near, "link", "add", "br0", "type", "bridge"], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"no bridges here: {made.stderr}")
        for words in (("link", "set", "eth0", "master", "br0"), ("link", "set", "br0", "up"), ("addr", "add", "10.78.0.1/24", "dev", "br0"),
                      ("route", "add", "default", "via", "10.78.0.2")):
            subprocess.run(["ip", "-n", near, *words], check=True)
        self.assertIn("IPv4 by br0", self.inject(PCAPS / "rxe-rping.pcap", status=1).stderr)

    def test_no_such_interface(self):
        done = self.way.run("near", path.BINARY, "replay", PCAPS / "rxe-rping.pcap", "--inject", "eth9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("eth9: no such interface; there are: ", done.stderr)
        self.assertIn("eth0", done.stderr)

    def test_an_interface_that_is_down(self):
        subprocess.run(["ip", "-n", self.way.names["near"], "link", "set", "eth0", "down"], check=True)
        done = self.inject(PCAPS / "rxe-rping.pcap", status=1)
        self.assertIn("eth0: the interface is down: ip link set eth0 up", done.stderr)

    def test_without_the_right(self):
        if not shutil.which("setpriv"):
            self.skipTest("setpriv is not installed")
        done = self.way.run("near", "setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw", path.BINARY, "replay",
                            PCAPS / "rxe-rping.pcap", "--inject", "eth0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("CAP_NET_RAW", done.stderr)

    def test_frames_longer_than_the_mtu(self):
        lengths = [len(octets) for _, octets in capture_octets("siw-gso-tcpdump-A.pcap")]
        fit = sum(length <= 1514 for length in lengths)
        self.assertTrue(0 < fit < len(lengths))
        arrived, report = self.arriving(PCAPS / "siw-gso-tcpdump-A.pcap", "--speed", "max")
        self.assertEqual(len(arrived), fit)
        self.assertEqual(report["not_sent"]["longer_than_mtu"], len(lengths) - fit)

    def test_frames_that_the_capture_cut(self):
        file = self.folder / "cut.pcap"
        whole = bytes(12) + b"\x88\xb5" + bytes(50)
        write_pcap(file, [(10**18, whole), (10**18 + 1, whole[:40], len(whole)), (10**18 + 2, whole)])
        arrived, report = self.arriving(file)
        self.assertEqual([octets for _, octets in arrived], [whole, whole])
        self.assertEqual(report["not_sent"]["cut"], 1)
        done = self.inject(PCAPS / "made-snap96-roce.pcap", "--speed", "max", "--json")
        self.assertGreater(json.loads(done.stdout)["not_sent"]["cut"], 0)

    def test_a_damaged_file_is_sent_up_to_the_damage(self):
        file = self.folder / "damaged.pcap"
        octets = (PCAPS / "rxe-rping.pcap").read_bytes()
        file.write_bytes(octets[:len(octets) * 2 // 3])
        arrived, report = self.arriving(file, "--speed", "max", status=1)
        sent = [octets for _, octets in capture_octets("rxe-rping.pcap")]
        self.assertTrue(0 < len(arrived) < len(sent))
        self.same([octets for _, octets in arrived], sent[:len(arrived)])
        self.assertIn("damaged.pcap", report["error"])

    def test_sigint_ends_it_with_a_report(self):
        file = self.folder / "slow.pcap"
        write_pcap(file, [(10**18 + i * 10**9, bytes(64)) for i in range(1000)])
        process = subprocess.Popen(self.way.within("near", path.BINARY, "replay", file, "--inject", "eth0", "--json"), stdout=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=20)[0]
        self.assertEqual(process.returncode, 0)
        self.assertTrue(1 <= json.loads(out)["sent_frames"] <= 4)
        self.assertIs(json.loads(out)["stopped"], True)

    def test_sigint_is_told_in_words(self):
        file = self.folder / "slow.pcap"
        write_pcap(file, [(10**18 + i * 10**9, bytes(64)) for i in range(1000)])
        process = subprocess.Popen(self.way.within("near", path.BINARY, "replay", file, "--inject", "eth0"), stdout=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=20)[0].splitlines()[-1], "stopped before all was sent")


if __name__ == "__main__":
    unittest.main()
