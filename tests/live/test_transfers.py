"""`rdmascope endpoint` between two hosts: every octet is compared, and what a capture of the wire shows, to tcpdump's eyes and
to ours, is what the endpoints report."""
import functools
import json
import re
import shutil
import struct
import subprocess
import unittest

import path
from path import BINARY, Capture, FAR_ADDRESS, Path, rdmascope

PORT = 7174
# FPDU sizes of RFC 5044 section 4.5; the segments of a path carry 12 octets of timestamps.
SEGMENT = {1500: 1448, 9000: 8948}


def mulpdu(segment, markers=False):
    return segment - (6 + (4 * -(-segment // 512) if markers else 0) + segment % 4)


def setUpModule():
    path.needs_namespaces()
    for program in ("tcpdump", "tc"):
        if not shutil.which(program):
            raise unittest.SkipTest(f"{program} is not installed: what passes between two hosts is not looked at")
    if rdmascope("endpoint", "--help").returncode != 0:
        raise unittest.SkipTest("this rdmascope has no endpoint")


def packets(file):
    """(source, sequence number, payload) of the TCP segments with payload in a pcap of Ethernet frames."""
    octets = file.read_bytes()
    order = "<" if octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at < len(octets):
        size = struct.unpack_from(order + "I", octets, at + 8)[0]
        frame = octets[at + 16:at + 16 + size]
        at += 16 + size
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        tcp = 14 + (frame[14] & 15) * 4
        begin, end = tcp + (frame[tcp + 12] >> 4) * 4, 14 + struct.unpack_from("!H", frame, 16)[0]
        if begin < end:
            yield ".".join(map(str, frame[26:30])), struct.unpack_from("!I", frame, tcp + 4)[0], frame[begin:end]


class Transfers(unittest.TestCase):
    def serve(self, way, *options):
        return way.start("far", BINARY, "endpoint", "serve", "--listen", f"{FAR_ADDRESS}:{PORT}", "--json", *options)

    def bench(self, way, *options):
        result = way.run("near", BINARY, "endpoint", "bench", *options, "--to", f"{FAR_ADDRESS}:{PORT}", "--json")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def agree(self, report, served, file):
        """The capture shows what both ends counted."""
        shown = rdmascope("flows", "-r", file, "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        figures = json.loads(shown.stdout)
        self.assertEqual((figures["capture"]["malformed"], figures["capture"]["truncated"]), (0, 0), self.complaints(file))
        # Next to the connections under test there are two that only ask the server how busy it is, without an FPDU.
        busy = {flow["id"] for flow in figures["flows"] if any(one["count"] for one in flow["messages"].values())}
        busy |= {flow["reverse"] for flow in figures["flows"] if flow["id"] in busy}
        there = [flow for flow in figures["flows"] if flow["destination"]["port"] == PORT and flow["id"] in busy]
        back = [flow for flow in figures["flows"] if flow["source"]["port"] == PORT and flow["id"] in busy]
        self.assertEqual((len(there), len(back)), (report["connections"], report["connections"]))
        damaged = 0 if report["agreement"]["crc"] else None
        for flow in there + back:
            self.assertEqual((flow["crc_bad"], flow["terminates"]), (damaged, 0))
        for operation, counted in report["messages"].items():
            seen = [sum(flow["messages"][operation][what] for flow in there) for what in ("count", "bytes")]
            self.assertEqual(seen, [counted["count"], counted["bytes"]], operation)
        self.assertEqual(served["crc_errors"], 0)
        self.assertEqual(served["terminates"], {"sent": 0, "received": 0})
        asking = [flow for flow in figures["flows"] if flow["destination"]["port"] == PORT and flow["id"] not in busy]
        return there, back, asking

    def complaints(self, file):
        """The first of our dissector's, for the message of a failure."""
        shown = rdmascope("dump", "-r", file, "-v").stdout.splitlines()
        return "\n".join([line for line in shown if re.search("malformed|truncated", line)][:5])

    def run_one(self, *options, **settings):
        """One bench, captured: its report, the server's, the flows there and back, the relay's report, the segments, and the
        flows of the connections that only ask the server how busy it is."""
        return next(filter(None, (self.run_once(*options, again=left, **settings) for left in (3, 2, 1, 0))))

    def run_once(self, *options, again, mtu=1500, serve=(), relay=None, rate=None):
        """The same; None where it is to be run again, as it may be `again` times."""
        with Path(mtu, relay) as way:
            if rate:
                self.assertEqual(way.shape(rate).returncode, 0)
            server = self.serve(way, *serve)
            with Capture(way) as capture:
                report = self.bench(way, *options, "--verify")
                self.assertEqual(report["wrong"], 0)
                self.assertIsNone(report["error"])
                served = json.loads(way.stop(server))
                file = capture.finish()
                there, back, asking = self.agree(report, served, file)
                relayed = way.relayed() if relay is not None else None
                if relay is None or "--drop-every" not in relay:
                    # A repeat may bring new octets as well, which tshark then lacks.
                    twice = any(flow["tcp"]["retransmitted_segments"] for flow in there + back)
                    if twice and again > 0 and self.tshark_complains(file):
                        return None
                    self.assertEqual(self.tshark_complains(file), "")
                return report, served, there, back, relayed, list(packets(file)), asking

    def tshark_complains(self, file):
        """Of the segments that came once and in order: to tshark a repeat, which a busy machine's TCP makes, is an error of reassembly."""
        if not shutil.which("tshark"):
            return ""
        once = file.with_name("once.pcap")
        tshark = functools.partial(subprocess.run, capture_output=True, text=True, env=path.ENVIRONMENT)
        tshark(["tshark", "-r", file, "-Y", "not (tcp.analysis.retransmission or tcp.analysis.out_of_order)", "-w", once], check=True)
        return tshark(["tshark", "-r", once, "-Y", "_ws.malformed || _ws.expert.message contains \"CRC\""]).stdout[:1000]

    def test_every_operation(self):
        for operation in ("write", "read", "send", "atomic"):
            with self.subTest(operation):
                size = () if operation == "atomic" else ("--size", "20000")
                report, *_ = self.run_one(operation, "--count", "100", *size)
                self.assertGreaterEqual(report["completed"]["count"], 100)

    def test_fpdus_fit_segments(self):
        for mtu in (1500, 9000):
            for markers in ("off", "on"):
                with self.subTest(mtu=mtu, markers=markers):
                    report, _, _, _, _, segments, _ = self.run_one("write", "--size", "300000", "--count", "10", "--align", "--markers", markers,
                                                                mtu=mtu, serve=("--markers", markers, "--align"))
                    largest = mulpdu(SEGMENT[mtu], markers == "on")
                    self.assertEqual(report["agreement"]["max_ulpdu"], largest)
                    self.assertEqual(report["agreement"]["markers_sent"], markers == "on")
                    sent = [payload for source, _, payload in segments if source == path.NEAR_ADDRESS]
                    self.assertLessEqual(max(map(len, sent)), SEGMENT[mtu])
                    sent = [payload for payload in sent if not payload.startswith(b"MPA ID ")]
                    if markers == "off":  # a segment is one FPDU: length, ULPDU, pad, CRC; the edge of a window may cut one
                        sizes = [int.from_bytes(payload[:2], "big") for payload in sent]
                        whole = [len(payload) == (2 + size + 3) // 4 * 4 + 4 for payload, size in zip(sent, sizes)]
                        self.assertGreaterEqual(whole.count(True), 0.95 * len(whole))
                        self.assertEqual(max(size for size, one in zip(sizes, whole) if one), largest)

    def test_without_crc(self):
        report, *_ = self.run_one("write", "--size", "64K", "--count", "100", "--crc", "off", serve=("--crc", "off"))
        self.assertFalse(report["agreement"]["crc"])

    def test_many_connections(self):
        self.run_one("read", "--size", "10000", "--count", "20", "--connections", "50", "--depth", "4")

    def test_loss(self):
        # Ahead of a capture the dissector bridges at most 64 KiB until the lost segment comes again: one READ of less at a time.
        for direction, bench in (("forward", ("write", "--size", "100000", "--count", "60")),
                                 ("back", ("read", "--size", "30000", "--count", "200", "--depth", "1")),
                                 ("both", ("send", "--size", "100000", "--count", "60"))):
            with self.subTest(direction):
                _, _, there, back, relayed, _, asking = self.run_one(*bench, relay=["--drop-every", "61", "--after", "20", "--direction", direction])
                dropped = {name: len(relayed[name]["dropped"]) for name in ("forward", "back")}
                self.assertGreater(dropped["forward"] + dropped["back"], 20)
                # The capture is where `near` sends: what was lost ahead is sent again past it.
                # Octets, since the kernel may send two small segments again as one. The relay spares no connection.
                again = sum(flow["tcp"]["retransmitted_bytes"] for flow in there + asking)
                self.assertGreaterEqual(again, sum(one["octets"] for one in relayed["forward"]["dropped"]))
                # What was lost on the way back comes late, but is there.
                late = sum(flow["tcp"]["out_of_order_segments"] + flow["tcp"]["retransmitted_segments"] for flow in back)
                self.assertGreaterEqual(late, 1 if dropped["back"] else 0)

    def test_a_long_path(self):
        self.run_one("read", "--size", "256K", "--count", "20", "--depth", "8", relay=["--delay", "10"])

    def test_a_slow_path(self):
        if not path.shaping_works():
            self.skipTest("this kernel limits no rates")
        report, *_ = self.run_one("write", "--size", "64K", "--count", "40", rate="50mbit")
        self.assertLessEqual(report["bytes_per_sec"] * 8, 52e6)  # what tbf lets through, and the bucket's 64 KiB

    def test_damage_that_tcp_does_not_see(self):
        with Path(1500, ["--damage-every", "200", "--after", "20", "--direction", "forward"]) as way:
            server = self.serve(way)
            with Capture(way) as capture:
                result = way.run("near", BINARY, "endpoint", "bench", "write", "--size", "64K", "--count", "100000", "--to",
                                 f"{FAR_ADDRESS}:{PORT}", "--verify")
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertRegex(result.stderr, "CRC")
                served = json.loads(way.stop(server))
                self.assertEqual(served["crc_errors"], 1)
                self.assertEqual(served["terminates"]["sent"], 1)
                file = capture.finish()
                shown = rdmascope("dump", "-r", file, "-Y", "iwarp_rdma.opcode == 7")
                terminates = [line for line in shown.stdout.splitlines() if "Terminate" in line]
                self.assertEqual(len(terminates), 1, shown.stdout)
                self.assertIn("CRC", terminates[0])

    def test_damage_that_nothing_sees_but_the_comparison(self):
        for _ in range(5):
            with Path(1500, ["--damage-every", "150", "--after", "20", "--direction", "back"]) as way:
                self.serve(way, "--crc", "off")
                result = way.run("near", BINARY, "endpoint", "bench", "read", "--size", "64K", "--count", "100", "--to",
                                 f"{FAR_ADDRESS}:{PORT}", "--verify", "--crc", "off")
            self.assertEqual(result.returncode, 1, result.stdout)
            # Where segments and FPDUs are out of step, a head may be what is damaged: that shows without a CRC.
            if "Terminate" not in result.stderr:
                break
        self.assertRegex(result.stderr, r"\b[1-9]\d* of \d+ messages held wrong data")

    def test_a_server_that_is_killed(self):
        with Path() as way:
            server = self.serve(way)
            client = subprocess.Popen(way.within("near", BINARY, "endpoint", "bench", "write", "--seconds", "60", "--to", f"{FAR_ADDRESS}:{PORT}"),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=path.ENVIRONMENT)
            way.processes.append(client)
            while not self.octets_sent(way):
                self.assertIsNone(client.poll())
            server.kill()
            _, errors = client.communicate(timeout=path.PATIENCE_SECONDS)
            self.assertEqual(client.returncode, 1)
            self.assertRegex(errors, re.escape(f"Connection reset by {FAR_ADDRESS}:{PORT}"))

    def octets_sent(self, way):
        counters = way.run("near", "cat", "/sys/class/net/eth0/statistics/tx_bytes")
        return int(counters.stdout) > 10_000_000

    def test_nobody_listens(self):
        with Path() as way:
            result = way.run("near", BINARY, "endpoint", "bench", "write", "--to", f"{FAR_ADDRESS}:{PORT}")
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, re.escape(f"Connection refused by {FAR_ADDRESS}:{PORT}"))


if __name__ == "__main__":
    unittest.main()
