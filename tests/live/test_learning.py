"""iWARP that the daemon learns in the kernel: what it exports is what the endpoints counted, from the first connection on, with any
other traffic next to them."""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from frames import ethernet, frames_of, ipv4, tcp, udp, with_tags
from hosts import Hosts
from path import BINARY, ENVIRONMENT, PATIENCE_SECONDS, Capture, needs_namespaces, rdmascope
from side_by_side import load_tests
from test_daemon import Daemon

PCAPS = pathlib.Path(os.environ["RDMASCOPE_PCAPS"])
PORT = 7174
# How often what is left to chance is repeated: RDMASCOPE_TESTS_REPEATED multiplies it.
REPEATED = int(os.environ.get("RDMASCOPE_TESTS_REPEATED", "1"))
ADDRESSES = {"near": "10.78.0.1", "far": "10.78.0.2"}


def setUpModule():
    needs_namespaces()
    with Hosts() as hosts:
        probe = hosts.probe("far", "tap")
        refusals = probe.refusals()
        if refusals:
            raise unittest.SkipTest(f"this kernel permits no eBPF: {refusals[0]}")


class Net:
    """Two namespaces joined by a veth pair with its offloads: segments pass joined, as in a machine with GSO and GRO."""

    def __init__(self):
        self.names = {host: f"rdmascope-learning-{os.getpid()}-{host}" for host in ADDRESSES}
        self.processes = []

    def __enter__(self):
        try:
            for name in self.names.values():
                subprocess.run(["ip", "netns", "add", name], check=True)
            subprocess.run(["ip", "-n", self.names["near"], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns",
                            self.names["far"]], check=True)
            for host, name in self.names.items():
                for change in (["addr", "add", f"{ADDRESSES[host]}/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
                    subprocess.run(["ip", "-n", name, *change], check=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def within(self, host, *command):
        return ["ip", "netns", "exec", self.names[host], *map(str, command)]

    def run(self, host, *command, check=True):
        return subprocess.run(self.within(host, *command), check=check, capture_output=True, text=True, env=ENVIRONMENT, timeout=PATIENCE_SECONDS)

    def start(self, host, *command, ready=None):
        process = subprocess.Popen(self.within(host, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.processes.append(process)
        if ready is not None:
            line = process.stdout.readline()
            assert line.startswith(ready), f"{command} did not start: {line}"
        return process

    def serve(self, host="far", address=None, *options):
        return self.start(host, BINARY, "endpoint", "serve", "--listen", f"{address or ADDRESSES[host]}:{PORT}", "--json", *options, ready="ready")

    def bench(self, host, address, *options):
        """The client's own counts: {operation: (messages, bytes)}."""
        done = self.run(host, BINARY, "endpoint", "bench", *options, "--to", f"{address}:{PORT}", "--json", check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return counted(json.loads(done.stdout))

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Host:
    """One of them, as the daemon of the other tests wants it."""

    def __init__(self, net, host):
        self.net, self.host = net, host

    def command(self, *arguments):
        return self.net.within(self.host, *arguments)

    def within(self, *arguments, check=True):
        return self.net.run(self.host, *arguments, check=check)


def counted(report):
    return {operation: (each["count"], each["bytes"]) for operation, each in report["messages"].items()}


def added(*reports):
    total = {}
    for report in reports:
        for operation, (count, size) in report.items():
            before = total.get(operation, (0, 0))
            total[operation] = (before[0] + count, before[1] + size)
    return total


def fpdu(payload=bytes(10), opcode=0, offset=0x1000, msn=1):
    """RFC 5044 section 4.1 with RFC 5041 and RFC 5040: a Write where `opcode` is 0, a Send where it is 3. Its CRC is not right."""
    if opcode == 0:
        ulpdu = struct.pack("!BBIQ", 0xc1, 0x40, 0x100, offset) + payload
    else:
        ulpdu = struct.pack("!BBIIII", 0x41, 0x40 | opcode, 0, 0, msn, 0) + payload
    return struct.pack("!H", len(ulpdu)) + ulpdu + bytes(-(len(ulpdu) + 2) % 4) + b"\1\2\3\4"


def answer(frame):
    """The frame with source and destination addresses of IPv4 changed for each other."""
    return frame[:26] + frame[30:34] + frame[26:30] + frame[34:]


def ipv6(next_header, payload):
    return ethernet(0x86dd, struct.pack("!IHBB", 6 << 28, len(payload), next_header, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + payload)


REQUEST = b"MPA ID Req Frame" + b"\x40\2\0\0"
REPLY = b"MPA ID Rep Frame" + b"\x40\2\0\0"
SYN, SYN_ACK = 0x02, 0x12


class Filter(unittest.TestCase):
    """What the kernel's program passes of frames that are made for it."""

    def passed(self, hosts, probe, frames):
        """Which of these frames pass, by their places; a RoCE packet after them shows that all were judged."""
        last = udp(4791, b"the last one of them")
        hosts.send("near", [*frames, last])
        seen = []
        while last not in seen:
            seen += [frame["octets"] for frame in probe.read(1)[0]]
        return [place for place, frame in enumerate(frames) if frame in seen]

    def test_what_always_passes(self):
        roce = struct.pack("!HHHH", 49152, 4791, 28, 0) + bytes(20)
        response = struct.pack("!HHHH", 4791, 49152, 28, 0) + bytes(20)
        options = bytes([60, 0]) + bytes(6) + bytes([17, 1]) + bytes(14)
        unreachable = bytes([3, 3]) + bytes(6)
        frames = [udp(4791), ethernet(0x0800, ipv4(17, response)), with_tags(udp(4791), (0x8100, 5)), with_tags(udp(4791), (0x88a8, 5), (0x8100, 6)),
                  ipv6(17, roce), ipv6(0, options + roce), ipv6(44, bytes([17, 0, 0, 1]) + bytes(4) + roce), ethernet(0x8915, bytes(60)),
                  ethernet(0x8808, bytes(46)), ethernet(0x0800, ipv4(1, unreachable + ipv4(17, roce))), tcp(50000, 80, flags=SYN)]
        others = [udp(4792), tcp(50000, 22, b"SSH-2.0"), ethernet(0x0806, bytes(46)), ethernet(0x0800, ipv4(1, bytes([8, 0]) + bytes(6) + ipv4(17, roce))),
                  ethernet(0x0800, ipv4(1, unreachable + ipv4(17, struct.pack("!HHHH", 53, 53, 28, 0) + bytes(20)))), ipv6(58, bytes(40)),
                  ipv6(44, bytes([17, 0, 0, 9]) + bytes(4) + roce)]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap")
            self.assertEqual(self.passed(hosts, probe, frames + others), list(range(len(frames))))

    def test_a_connection_is_learnt_with_its_first_frames(self):
        setup = [tcp(50000, 7174, flags=SYN, sequence=99), answer(tcp(7174, 50000, flags=SYN_ACK, sequence=0)), tcp(50000, 7174, REQUEST, sequence=100),
                 answer(tcp(7174, 50000, REPLY, sequence=1)), tcp(50000, 7174, fpdu(bytes(1200)), sequence=120), tcp(50000, 7174, b"anything", sequence=2000),
                 with_tags(answer(tcp(7174, 50000, b"back", sequence=21)), (0x8100, 7))]
        others = [tcp(50000, 7175, b"other port", sequence=120), tcp(50001, 7174, b"other client", sequence=120)]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap", "snaplen=100")
            self.assertEqual(self.passed(hosts, probe, setup + others), list(range(len(setup))), "whole, however short the snap length")

    def test_what_a_new_connection_begins_with_decides(self):
        def setup(port, data):
            return [tcp(50000, port, flags=SYN, sequence=99), tcp(50000, port, data, sequence=100), tcp(50000, port, b"more", sequence=200),
                    tcp(50000, port, b"much later", sequence=100 + 20000)]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap")
            self.assertEqual(self.passed(hosts, probe, setup(80, b"GET / HTTP/1.1")), [0])
            late = [tcp(50000, 81, flags=SYN, sequence=99), tcp(50000, 81, b"the second segment", sequence=120), tcp(50000, 81, REQUEST, sequence=100)]
            self.assertEqual(self.passed(hosts, probe, late), [0, 1, 2])
            halves = [tcp(50000, 82, flags=SYN, sequence=99), tcp(50000, 82, REQUEST[:7], sequence=100), tcp(50000, 82, REQUEST[7:], sequence=107)]
            self.assertEqual(self.passed(hosts, probe, halves), [0, 1, 2])

    def test_older_connections_are_learnt_by_their_fpdus(self):
        apart = [tcp(50000, 7175, fpdu(opcode=3, msn=1), sequence=1), tcp(50000, 7175, fpdu(opcode=3, msn=2), sequence=1 + len(fpdu(opcode=3)))]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap")
            joined = [tcp(50000, 7174, fpdu(opcode=3) + fpdu(opcode=3, msn=2), sequence=1), tcp(50000, 7174, b"whatever", sequence=500),
                      answer(tcp(7174, 50000, b"and back", sequence=1)), tcp(50000, 7174, b"far away", sequence=1 << 31)]
            self.assertEqual(self.passed(hosts, probe, joined), [0, 1, 2], "one segment suffices; 2 GiB further it is another connection")
            self.assertEqual(self.passed(hosts, probe, [*apart, tcp(50000, 7175, b"whatever", sequence=500)]), [0, 1, 2])
            inside = [tcp(50000, 7176, random.Random(1).randbytes(301) + fpdu(opcode=3) + fpdu(opcode=3, msn=2) + fpdu(bytes(1000), 3, msn=3)[:300], sequence=1),
                     tcp(50000, 7176, b"whatever", sequence=1000)]
            self.assertEqual(self.passed(hosts, probe, inside), [0, 1], "also inside a segment")

    def test_forged_frames_widen_nothing(self):
        """Lone Requests, and pairs of FPDUs at a guess, for the ports of connections that carry something else."""
        source = random.Random(1)
        ports = source.sample(range(10000, 60000), min(2000 * REPEATED, 40000))
        requests = [tcp(port, 80, REQUEST, sequence=source.getrandbits(32)) for port in ports]
        guesses = [tcp(port, 80, fpdu(opcode=3) + fpdu(opcode=3, msn=2), sequence=0x40000000) for port in ports]
        # Without ACK they say nothing of where the other direction is.
        guesses += [tcp(port, 81, fpdu(opcode=3) + fpdu(opcode=3, msn=2), flags=0x08) for port in ports[:500]]
        real = [tcp(port, 80, source.randbytes(64), sequence=0xc0000000) for port in ports]
        real += [answer(tcp(81, port, source.randbytes(64), sequence=0xc0000000)) for port in ports[:500]]
        setup = [tcp(50000, 7174, REQUEST, sequence=100), answer(tcp(7174, 50000, REPLY, sequence=1))]
        with Hosts() as hosts:
            probe = hosts.probe("far", "tap")
            self.assertEqual(self.passed(hosts, probe, setup), [0, 1])
            hosts.send("near", requests + guesses)
            seen = self.passed(hosts, probe, real)
            self.assertLessEqual(len(seen), 2, "a Request may be near by chance: 16 KiB of 4 GiB, for each port")
            self.assertEqual(self.passed(hosts, probe, [tcp(50000, 7174, b"still known", sequence=120)]), [0])


class Learning(unittest.TestCase):
    def daemon(self, net, host="far", interface="eth0", config=""):
        return Daemon(Host(net, host), interfaces=(interface,), config=config)

    def exported(self, daemon, operations, direction):
        """Of what the client sent: the server sends credits of its own."""
        series = daemon.series()
        out = {}
        for operation in operations:
            out[operation] = tuple(int(sum(value for (name, labels), value in series.items()
                                           if name == wanted and {("op", operation), ("direction", direction)} <= labels))
                                   for wanted in ("rdma_messages_total", "rdma_message_bytes_total"))
        return out

    def agree(self, daemon, expected, direction="receive"):
        """What the daemon exports becomes what the endpoints counted, and stays so."""
        expected = {operation: each for operation, each in expected.items() if each[0]}
        deadline = time.monotonic() + 20
        while self.exported(daemon, expected, direction) != expected and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual(self.exported(daemon, expected, direction), expected, daemon.log())
        self.assertEqual(daemon.dropped_by_kernel(), 0)

    def test_first_connection_of_a_port_on_loopback(self):
        with Net() as net, self.daemon(net, interface="lo") as daemon:
            net.serve("far", "127.0.0.1")
            report = net.bench("far", "127.0.0.1", "write", "--size", "4096", "--count", "5000")
            self.assertEqual(report["write"][0], 5000)
            self.agree(daemon, report, "transmit")

    def test_joined_segments_in_both_directions(self):
        with Net() as net, self.daemon(net, "near") as sending, self.daemon(net, "far") as receiving:
            net.serve()
            reports = [net.bench("near", ADDRESSES["far"], operation, "--size", "20000", "--count", "500")
                       for operation in ("write", "read", "send")]
            self.agree(sending, added(*reports), "transmit")
            self.agree(receiving, added(*reports))

    def test_short_connections_one_after_the_other(self):
        with Net() as net, self.daemon(net) as daemon:
            net.serve()
            reports = [net.bench("near", ADDRESSES["far"], "write", "--size", "64K", "--count", "1") for _ in range(40 * REPEATED)]
            self.agree(daemon, added(*reports))

    def test_many_connections_at_once(self):
        with Net() as net, self.daemon(net) as daemon:
            net.serve()
            self.agree(daemon, net.bench("near", ADDRESSES["far"], "send", "--size", "16K", "--count", "20", "--connections", "100"))

    def test_connections_older_than_the_daemon(self):
        """The client stands still while the daemon starts: what comes after that is counted from the first message on."""
        with Net() as net:
            net.serve()
            with Capture(net) as capture:
                client = net.start("near", BINARY, "endpoint", "bench", "write", "--size", "8000", "--rate", "3200000", "--count", "400", "--to",
                                   f"{ADDRESSES['far']}:{PORT}", "--json")
                deadline = time.monotonic() + PATIENCE_SECONDS
                while capture.file.stat().st_size < 500000:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                client.send_signal(signal.SIGSTOP)
                before = json.loads(rdmascope("flows", "-r", capture.finish(), "--json").stdout)
            sent = sum(flow["messages"]["write"]["count"] for flow in before["flows"])
            size = sum(flow["messages"]["write"]["bytes"] for flow in before["flows"])
            self.assertGreater(sent, 10)
            with self.daemon(net) as daemon:
                client.send_signal(signal.SIGCONT)
                out, errors = client.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(client.returncode, 0, errors)
                count, size_sent = counted(json.loads(out))["write"]
                self.assertGreater(count, sent)
                self.agree(daemon, {"write": (count - sent, size_sent - size)})

    def test_busy_connections_older_than_the_daemon(self):
        """Segments of a busy stream begin anywhere in an FPDU. Nearly all that passes from the daemon's start on is read."""
        with Net() as net:
            net.serve()
            client = net.start("near", BINARY, "endpoint", "bench", "write", "--size", "50000", "--rate", "200M", "--seconds", "8", "--to",
                               f"{ADDRESSES['far']}:{PORT}", "--json")
            received = lambda: int(net.run("far", "cat", "/sys/class/net/eth0/statistics/rx_bytes").stdout)
            deadline = time.monotonic() + PATIENCE_SECONDS
            while received() < 20_000_000:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            with self.daemon(net) as daemon:
                before = received()
                _, errors = client.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(client.returncode, 0, errors)
                passed = received() - before
                self.assertGreater(passed, 20_000_000)
                daemon.wait_for("the bytes that passed", lambda: self.exported(daemon, ["write"], "receive")["write"][1] > 0.9 * passed, 20)

    def test_a_kernel_without_ebpf_is_reported_everywhere(self):
        with Net() as net, Daemon(Host(net, "far"), interfaces=("eth0",), environment={"RDMASCOPE_EBPF": "off"}) as daemon:
            daemon.wait_for("the log", lambda: "found by this process, not in the kernel" in daemon.log())
            self.assertEqual(daemon.total("rdmascope_iwarp_learning_in_kernel"), 0)
            learning = daemon.ask(command="status")["result"]["iwarp_learning"]
            self.assertFalse(learning["in_kernel"])
            self.assertIn("RDMASCOPE_EBPF=off", learning["reason"])
            self.assertIsNone(learning["learnt"])
        with Net() as net, self.daemon(net) as daemon:
            self.assertEqual(daemon.total("rdmascope_iwarp_learning_in_kernel"), 1)
            self.assertTrue(daemon.ask(command="status")["result"]["iwarp_learning"]["in_kernel"])

    def test_connections_that_make_room_for_others_are_counted(self):
        setup = [frame for port in range(20000, 21500)
                 for frame in (tcp(port, 7174, REQUEST, sequence=100), answer(tcp(7174, port, REPLY, sequence=1)))]
        with Net() as net, self.daemon(net, config="[capture]\niwarp_connections = 1024\n") as daemon:
            Hosts.send(net, "near", setup)
            daemon.wait_for("all of them", lambda: daemon.total("rdmascope_iwarp_connections_learnt_total") == 1500)
            daemon.wait_for("the next interval", lambda: daemon.total("rdmascope_iwarp_connections_evicted_total") > 0)
            known = daemon.total("rdmascope_iwarp_connections")
            self.assertLessEqual(known, 1024)
            self.assertEqual(daemon.total("rdmascope_iwarp_connections_evicted_total"), 1500 - known)

    def test_payload_is_read_and_not_stored(self):
        """A recording has the heads of all segments that were read whole."""
        with Net() as net:
            daemon = Daemon(Host(net, "far"), interfaces=("eth0",), record=True)
            daemon.write(f'[recorder]\ndirectory = "{daemon.recordings}"\nafter = "1s"\n')
            with daemon:
                net.serve()
                self.agree(daemon, net.bench("near", ADDRESSES["far"], "write", "--size", "20000", "--count", "100"))
                daemon.wait_for("the trigger", lambda: daemon.ask(command="trigger")["ok"])
                (kept,) = daemon.wait_for("the recording", lambda: list(daemon.recordings.glob("*.pcapng")))
                shown = rdmascope("dump", "--all", "-r", kept, "-T", "fields", "-e", "frame.cap_len", "-e", "frame.len")
                self.assertEqual(shown.returncode, 0, shown.stderr)
                lengths = [tuple(map(int, line.split("\t"))) for line in shown.stdout.splitlines()]
                self.assertGreater(max(length for _, length in lengths), 1000)
                self.assertEqual(max(captured for captured, _ in lengths), 192)
                self.assertGreater(sum(length for _, length in lengths), 100 * 20000, "what the kernel learns is recorded")

    def test_ports_are_used_again(self):
        with Net() as net, self.daemon(net) as daemon:
            for name in net.names:
                net.run(name, "sysctl", "-qw", "net.ipv4.tcp_tw_reuse=1")
            net.run("near", "sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 40011")
            net.serve()
            reports = []
            deadline = time.monotonic() + PATIENCE_SECONDS
            while len(reports) < 15 * REPEATED:
                self.assertLess(time.monotonic(), deadline)
                try:
                    reports.append(net.bench("near", ADDRESSES["far"], "write", "--size", "30000", "--count", "20"))
                except AssertionError as refused:
                    self.assertIn("annot assign requested address", str(refused))
                    time.sleep(0.1)
            self.agree(daemon, added(*reports))

    def test_a_flood_of_syns_next_to_it(self):
        flood = ("import os, random, socket, struct, sys\n"
                 "link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
                 "link.bind(('eth0', 0))\n"
                 "print('ready', flush=True)\n"
                 "while True:\n"
                 "    link.send(b'\\xff' * 6 + bytes(6) + b'\\x08\\0' + struct.pack('!BBHHHBBHII', 69, 0, 40, 0, 0, 64, 6, 0, random.getrandbits(32), "
                 "0x0a4e0002) + struct.pack('!HHIIBBHHH', random.getrandbits(16), 7174, random.getrandbits(32), 0, 0x50, 2, 512, 0, 0))\n")
        with Net() as net, self.daemon(net) as daemon:
            net.serve()
            flooding = net.start("near", sys.executable, "-c", flood, ready="ready")
            reports = [net.bench("near", ADDRESSES["far"], "write", "--size", "50000", "--count", "100") for _ in range(5)]
            flooding.kill()
            self.agree(daemon, added(*reports))

    def test_a_web_server_next_to_it(self):
        """Its traffic does not pass, and shows no RDMA."""
        with Net() as net, self.daemon(net) as daemon:
            net.serve()
            folder = daemon.folder / "web"
            folder.mkdir()
            (folder / "large").write_bytes(random.Random(1).randbytes(20_000_000))
            net.start("far", sys.executable, "-u", "-m", "http.server", "--directory", folder, "8080", ready="Serving")
            fetch = f"import urllib.request as r\nfor _ in range(10): assert len(r.urlopen('http://{ADDRESSES['far']}:8080/large').read()) == 20000000"
            with concurrent.futures.ThreadPoolExecutor() as pool:
                fetched = pool.submit(net.run, "near", sys.executable, "-c", fetch)
                report = net.bench("near", ADDRESSES["far"], "write", "--size", "10000", "--count", "1000")
                fetched.result()
            self.agree(daemon, report)
            flows = json.loads(net.run("far", BINARY, "flows", "--json", f"--connect={daemon.socket}").stdout)["flows"]
            self.assertEqual([flow for flow in flows if 8080 in (flow["source"]["port"], flow["destination"]["port"])], [])
            self.assertLess(daemon.total("rdmascope_captured_bytes_total"), 40_000_000)


class Tool:
    """flows, why or dump on an interface of a host, until it is interrupted."""

    def __init__(self, net, command, *options, host="far", environment=None):
        self.out = tempfile.TemporaryFile("w+")  # a pipe would be full
        self.process = subprocess.Popen(net.within(host, BINARY, command, "-i", "eth0", "-n", *options), stdout=self.out,
                                        stderr=subprocess.PIPE, text=True, env={**ENVIRONMENT, **(environment or {})})
        line = self.process.stderr.readline()
        assert "listening on eth0" in line, line

    def __enter__(self):
        return self

    def packets(self):
        """So far, as it reports when it is asked by a signal."""
        self.process.send_signal(signal.SIGUSR1)
        return int(re.search(r"(\d+) packets?", self.process.stderr.readline())[1])

    def wait_for(self, packets):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.packets() < packets:
            assert time.monotonic() < deadline, "the packets did not come"
            time.sleep(0.1)

    def end(self):
        time.sleep(0.5)  # the kernel hands over the last block
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert self.process.returncode == 0, errors
        self.out.seek(0)
        return self.out.read()

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.out.close()


def messages(document, address):
    """What was sent from an address: {operation: (messages, bytes)}."""
    return added(*({operation: (each["count"], each["bytes"]) for operation, each in flow["messages"].items() if each}
                   for flow in document["flows"] if flow["source"]["address"] == address))


class Tools(unittest.TestCase):
    """The commands that capture by themselves use the kernel's program, and lose nothing by that."""

    def test_first_connection_of_a_port(self):
        with Net() as net, Tool(net, "flows", "--json") as flows, Tool(net, "why", "--json") as why, Tool(net, "dump") as dump:
            net.serve()
            report = net.bench("near", ADDRESSES["far"], "write", "--size", "4096", "--count", "2000")
            document = json.loads(flows.end())
            self.assertEqual(messages(document, ADDRESSES["near"])["write"], report["write"])
            self.assertEqual(document["capture"]["kernel_dropped"], 0)
            self.assertGreater(len(json.loads(why.end())["answers"]), 0)
            lines = [line for line in dump.end().splitlines() if "WRITE" in line.upper()]
            self.assertGreaterEqual(len(lines), 2000)

    def test_without_ebpf_nothing_is_missed_either(self):
        with Net() as net, Tool(net, "flows", "--json", environment={"RDMASCOPE_EBPF": "off"}) as flows:
            net.serve()
            report = net.bench("near", ADDRESSES["far"], "send", "--size", "4096", "--count", "200")
            self.assertEqual(messages(json.loads(flows.end()), ADDRESSES["near"])["send"], report["send"])

    def test_ordinary_tcp_stays_in_the_kernel_and_all_else_comes(self):
        tunnels = [octets for octets, length in frames_of(PCAPS / "made-roce-carriers.pcap") if len(octets) == length]
        web = [tcp(50000, 80, b"GET / HTTP/1.1", sequence=1000 * number) for number in range(500)]
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
            for number, octets in enumerate(tunnels):
                file.write(struct.pack("<IIII", 1, number, len(octets), len(octets)) + octets)
            file.flush()
            expected = json.loads(rdmascope("flows", "-n", "--json", "-r", file.name).stdout)
        self.assertGreater(expected["capture"]["rdma_units"], 10)
        with Hosts() as hosts, Tool(hosts, "flows", "--json") as flows:
            hosts.send("near", web + tunnels)
            flows.wait_for(len(tunnels))
            document = json.loads(flows.end())
            self.assertEqual(document["capture"]["rdma_units"], expected["capture"]["rdma_units"])
            self.assertEqual(len(document["flows"]), len(expected["flows"]))
            self.assertEqual(document["capture"]["packets"], expected["capture"]["packets"], "without those of the web")

    def test_what_is_saved_or_selected_is_everything(self):
        sent = [tcp(50000, 80, b"GET / HTTP/1.1" + bytes(200), sequence=1000), udp(53), udp(4791), ethernet(0x0806, bytes(46))]
        with Hosts() as hosts:
            folder = tempfile.TemporaryDirectory(prefix="rdmascope-live-")
            self.addCleanup(folder.cleanup)
            saved = pathlib.Path(folder.name) / "saved.pcap"
            for options, kept, octets in (([], sent, 262144), (["-s", "96"], sent, 96), (["tcp"], sent[:1], 262144)):
                with self.subTest(options), Tool(hosts, "dump", "-w", saved, *options) as dump:
                    hosts.send("near", sent)
                    dump.wait_for(len(kept))
                    dump.end()
                    self.assertEqual([frame for frame, *_ in frames_of(saved)], [frame[:octets] for frame in kept])
            with Tool(hosts, "dump", "--all", "-T", "text") as dump:
                hosts.send("near", sent)
                dump.wait_for(len(sent))
                self.assertEqual(len(dump.end().splitlines()), len(sent))


if __name__ == "__main__":
    unittest.main()
