"""`rdmascope endpoint`: serve, ping, bench and listen, against each other, against a peer made by hand, and against peers
that are none."""
import json
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import time
import unittest

from command import BINARY, ENVIRONMENT, TestCase, run
from endpoints import READ_REQUEST, SEND, TERMINATE, WRITE, ByHand, Lost, RpingServer, Serving, bench, capturing, ping

PARTS = ("serve", "ping", "bench", "listen")


def pattern(begin, size):
    """As the manual has it."""
    return bytes((31 * i + 7) % 251 for i in range(begin, begin + size))


def hello(service, version=1, message=0, depth=0, writable=0):
    return struct.pack(">4sBBBBIIQ8x", b"RDSC", version, 1, service, 0, message, depth, writable)


def offer(private_data):
    """Credits, longest message, and the two regions as (STag, offset, length)."""
    magic, version, kind, credits, longest, *regions = struct.unpack(">4sBB2xIIIQQIQQ8x", private_data)
    assert (magic, version, kind) == (b"RDSC", 1, 2), private_data
    return credits, longest, tuple(regions[:3]), tuple(regions[3:])


class Usage(TestCase):
    def test_what_cannot_be_obeyed_is_a_usage_error(self):
        for arguments in ([], ["srve"], ["serve", "--crcc", "on"], ["serve", "--crc", "maybe"], ["serve", "--listen", "a:99999"],
                          ["serve", "--listen", "[::1"], ["ping", "--to", "127.0.0.1:0"], ["ping", "--size", "0"],
                          ["ping", "somebody"], ["bench"], ["bench", "wirte"], ["bench", "read", "--size", "9Q"],
                          ["bench", "read", "--ping-pong"], ["bench", "send", "--ping-pong", "--rate", "1M"],
                          ["bench", "read", "--size", "2G", "--depth", "4096"],
                          ["bench", "write", "--size", "64", "--depth", "4096", "--connections", "5000"], ["listen", "--receives", "0"],
                          ["serve", "--mpa-revision", "1", "--peer-to-peer"], ["ping", "--congestion", "bogus"],
                          ["serve", "--mpa-revision", "3"], ["serve", "--max-ulpdu", "64769"]):
            with self.subTest(arguments=arguments):
                message = self.fails(run("endpoint", *arguments), 2)
                self.assertIn("rdmascope endpoint", message)

    def test_what_was_meant_is_named(self):
        self.assertIn("did you mean 'serve'?", run("endpoint", "srve").stderr)
        self.assertIn("did you mean '--crc'?", run("endpoint", "serve", "--crcc", "on").stderr)
        self.assertIn("did you mean write?", run("endpoint", "bench", "wirte").stderr.replace("'", ""))

    def test_help(self):
        page = self.succeeds(run("help", "endpoint"))
        self.assertEqual(page, self.succeeds(run("endpoint", "--help")))
        for part in PARTS:
            self.assertIn(part, page)
            self.assertIn(f"endpoint {part}", self.succeeds(run("endpoint", part, "--help")))

    def test_nobody_listens(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"localhost:{unused.getsockname()[1]}"
            for result in (ping(address), bench("read", address), bench("write", address, "--json")):
                message = self.fails(result)
                self.assertIn(address, message)
                self.assertIn("endpoint serve", message)
            told = json.loads(bench("write", address, "--json").stdout)
            self.assertEqual(told["depth"], 16)
            self.assertIn(address, told["error"])

    def test_a_port_that_is_taken(self):
        with Serving() as server:
            message = self.fails(run("endpoint", "serve", "--listen", server.address))
            self.assertIn(str(server.port), message)

    def test_a_name_that_there_is_not(self):
        message = self.fails(ping("no.such.host.invalid:7174"))
        self.assertIn("no.such.host.invalid", message)
        self.assertNotIn("running there", message, "what runs on a host that there is not?")


class Together(TestCase):
    """Serve and its clients."""

    @classmethod
    def setUpClass(cls):
        cls.server = Serving()
        cls.addClassCleanup(cls.server.__exit__)

    def figures(self, result):
        return json.loads(self.succeeds(result))

    def test_ping(self):
        for size in (1, 2, 63, 64, 4096, 65535, 1 << 20):
            with self.subTest(size=size):
                found = self.figures(ping(self.server.address, "--size", size, "--json"))
                self.assertEqual((found["pings"], found["answered"], found["wrong"], found["error"]), (3, 3, 0, None))
                times = found["round_trip_ns"]
                self.assertEqual(times["count"], 3)
                self.assertTrue(0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"])
                self.assertEqual(found["messages"], {"send": {"count": 6, "bytes": 96}})

    def test_ping_in_words(self):
        out = self.succeeds(ping(self.server.address))
        self.assertEqual(len(re.findall(r"^64 bytes from \S+: ping=\d time=", out, re.MULTILINE)), 3)
        self.assertIn("3 pings, 3 answered, 0 with wrong data", out)

    def test_every_operation_at_every_size(self):
        for kind in ("write", "read", "send"):
            for size, count, depth in ((0, 50, 16), (1, 50, 16), (3, 200, 64), (64, 1000, 16), (4096, 300, 16),
                                       (65536, 50, 8), (1 << 20, 6, 4), (16 << 20, 2, 2)):
                with self.subTest(kind=kind, size=size):
                    found = self.figures(bench(kind, self.server.address, "--size", size, "--count", count, "--depth", depth,
                                               "--verify", "--json"))
                    self.assertEqual(found["completed"], {"count": count, "bytes": count * size})
                    self.assertEqual(found["wrong"], 0)
                    self.assertEqual(found["messages"][kind], {"count": count, "bytes": count * size})
                    self.assertEqual(found["latency_ns"]["count"], count)

    def test_atomics(self):
        for options, name in (([], "fetch_add"), (["--compare-swap"], "compare_swap")):
            with self.subTest(name=name):
                found = self.figures(bench("atomic", self.server.address, "--count", 500, "--verify", "--json", *options))
                self.assertEqual(found["messages"], {name: {"count": 500, "bytes": 4000}})
                self.assertEqual(found["wrong"], 0)

    def test_ping_pong(self):
        for depth in (1, 7):
            for size in (1, 64, 100_000):
                with self.subTest(depth=depth, size=size):
                    found = self.figures(bench("send", self.server.address, "--ping-pong", "--depth", depth, "--size", size,
                                               "--count", 100, "--verify", "--json"))
                    self.assertEqual((found["completed"]["count"], found["wrong"]), (100, 0))

    def test_several_connections(self):
        found = self.figures(bench("read", self.server.address, "--connections", 40, "--count", 25, "--size", 5000, "--verify",
                                   "--json"))
        self.assertEqual(found["completed"], {"count": 1000, "bytes": 5_000_000})
        self.assertEqual(found["wrong"], 0)

    def test_for_a_time(self):
        found = self.figures(bench("write", self.server.address, "--seconds", "0.3", "--json"))
        self.assertGreater(found["seconds"], 0.25)
        self.assertEqual(found["bytes_per_sec"], found["completed"]["bytes"] / found["seconds"])

    def test_at_a_rate(self):
        # 2 connections, a message of 1000 octets every 10 ms for half a second: at 0, 10, ... 490 and at 5, 15, ... 495.
        found = self.figures(bench("read", self.server.address, "--rate", "800k", "--size", 1000, "--seconds", "0.5",
                                   "--connections", 2, "--json"))
        self.assertEqual(found["completed"]["count"], 100)
        self.assertEqual(found["deadlines"]["met"] + found["deadlines"]["missed"], 100)

    def test_the_time_is_up_also_for_who_cannot_keep_the_rate(self):
        found = self.figures(bench("write", self.server.address, "--rate", "10T", "--size", 64, "--seconds", "0.5", "--json"))
        self.assertLess(found["seconds"], 2)

    def test_a_count_at_a_rate(self):
        # Ten in nine periods of 0.5 ms; what ends the measurement comes at once.
        found = self.figures(bench("write", self.server.address, "--rate", "1G", "--count", 10, "--json"))
        self.assertEqual(found["completed"]["count"], 10)
        self.assertLess(found["seconds"], 0.08)

    def test_more_than_is_lent(self):
        message = self.fails(ping(self.server.address, "--size", "100M"))
        self.assertIn("endpoint serve --region", message)

    def test_interrupted(self):
        for patience in (0.5, 5, 20):  # a busy machine may not have begun
            process = subprocess.Popen([BINARY, "endpoint", "bench", "read", "--to", self.server.address, "--seconds", "60", "--json"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
            time.sleep(patience)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
            if process.returncode == 0 and json.loads(out)["completed"]["count"]:
                break
        self.assertEqual(process.returncode, 0, error)
        self.assertGreater(json.loads(out)["completed"]["count"], 0)

    def test_the_server_tells_its_processor_time(self):
        found = self.figures(bench("write", self.server.address, "--size", "1M", "--count", 200, "--json"))
        self.assertGreater(found["server_cpu"]["user_seconds"] + found["server_cpu"]["system_seconds"], 0)


class Agreements(TestCase):
    def test_what_both_ends_ask_for(self):
        for server, client, wanted in (
                ([], [], {"revision": 2, "crc": True, "markers_sent": False, "markers_received": False}),
                (["--crc=off"], ["--crc=off"], {"crc": False}),
                (["--crc=on"], ["--crc=off"], {"crc": True}),
                (["--crc=off"], ["--crc=on"], {"crc": True}),
                (["--markers=on"], [], {"markers_sent": True, "markers_received": False}),
                ([], ["--markers=on"], {"markers_sent": False, "markers_received": True}),
                (["--markers=on", "--crc=off"], ["--markers=on", "--crc=off"], {"markers_sent": True, "markers_received": True}),
                ([], ["--mpa-revision=1"], {"revision": 1, "enhanced": False}),
                ([], ["--peer-to-peer"], {"peer_to_peer": True, "enhanced": True}),
                (["--ird=3"], ["--ord=9"], {"ord": 3}),
                (["--placement=direct"], ["--placement=direct"], {}),
                (["--align"], ["--align"], {}),
                (["--max-ulpdu=128"], ["--max-ulpdu=130"], {"max_ulpdu": 130})):
            with self.subTest(server=server, client=client), Serving("--json", *server) as serving:
                for kind in ("write", "read", "send"):
                    found = json.loads(self.succeeds(bench(kind, serving.address, "--count", 40, "--size", 70000, "--verify",
                                                           "--json", *client)))
                    self.assertEqual((found["completed"]["count"], found["wrong"]), (40, 0))
                    self.assertEqual({name: found["agreement"][name] for name in wanted}, wanted)
                self.succeeds(ping(serving.address, "--size", 3000, *client))
                self.assertEqual(serving.summary()["crc_errors"], 0)

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("there is no IPv6 here")
        with Serving(listen="[::1]:0") as server:
            self.assertTrue(server.address.startswith("[::1]:"))
            self.succeeds(ping(server.address))


class Serve(TestCase):
    def test_it_ends_on_request_and_tells_what_it_did(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number), Serving() as server:
                self.succeeds(ping(server.address))
                status, out, error = server.stop(number)
                self.assertEqual(status, 0, error)
                self.assertIn("3 pings answered", out)

    def test_its_summary_is_what_its_clients_counted(self):
        with Serving("--json") as server:
            self.succeeds(bench("send", server.address, "--count", 300, "--size", 1000))
            self.succeeds(bench("read", server.address, "--count", 200, "--size", 3000))
            self.succeeds(bench("write", server.address, "--count", 100, "--size", 500))
            self.succeeds(ping(server.address, "--size", 777))
            found = server.summary()
        self.assertEqual(found["sends"]["received"], {"count": 300 + 6, "bytes": 300_000 + 96})
        self.assertEqual(found["reads_served"], 200 + 1)  # the last one shows that all that was written is placed
        self.assertEqual(found["pings"], {"count": 3, "bytes": 3 * 777})
        self.assertEqual(found["sends"]["wrong"], 0)
        # Three measurements and what each asks before and after, and a ping.
        self.assertEqual(found["connections"]["established"], 3 * 3 + 1)
        self.assertEqual(found["connections"]["closed"], 3 * 3 + 1)
        self.assertEqual(found["connections"]["failed"], 0)

    def test_who_is_too_many_is_told(self):
        with Serving("--connections", 3, "--json") as server:
            message = self.fails(bench("read", server.address, "--connections", 5, "--seconds", "0.2"))
            self.assertIn("full: 3 connections are open", message)
            self.assertIn(server.address, message)
            self.succeeds(ping(server.address))
            self.assertGreater(server.summary()["connections"]["rejected"], 0)

    def test_silent_connections_keep_nobody_out(self):
        # More than there are places for: three, and 64 for those that are refused.
        with Serving("--connections", 3, "--json") as server:
            silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
            for each in silent:
                self.addCleanup(each.close)
            begun = time.monotonic()
            self.succeeds(ping(server.address))
            # Silent connections time out after ten seconds.
            self.assertLess(time.monotonic() - begun, 8)
            self.assertGreater(server.summary()["connections"]["handshakes_failed"], 100)

    def test_few_open_files_are_few_connections(self):
        def limited(files):
            return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        process = subprocess.Popen([BINARY, "endpoint", "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=ENVIRONMENT, text=True, preexec_fn=limited(64))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        announced = int(re.search(r"(\d+) connections at once", process.stderr.readline())[1])
        self.assertLess(announced, 64)
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        # So many can be had.
        done = bench("send", f"127.0.0.1:{port}", "--connections", announced, "--count", 10, "--size", 100)
        self.succeeds(done)
        refused = subprocess.run([BINARY, "endpoint", "serve", "--listen", "127.0.0.1:0"], capture_output=True, text=True, env=ENVIRONMENT,
                                 preexec_fn=limited(20), timeout=60)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("raise `ulimit -n`", refused.stderr)

    def test_memory_has_a_limit(self):
        with Serving("--memory", "1M", "--region", "512K", "--json") as server:
            self.assertIn("serve --memory", self.fails(bench("write", server.address, "--connections", 4, "--size", "256K",
                                                             "--depth", 2, "--seconds", "0.2")))
            self.assertIn("--region", self.fails(bench("write", server.address, "--size", "600K")))
            self.assertIn("--region", self.fails(bench("read", server.address, "--size", "600K")))
            self.assertNotEqual(ping(server.address, "--size", "600K").returncode, 0)
            self.succeeds(ping(server.address))
            self.assertLessEqual(server.summary()["memory_bytes_most"], 1 << 20)

    def test_memory_holds_what_peers_do_not_take(self):
        memory, count = 24 << 20, 200
        with Serving("--memory", memory, "--json") as server:
            before = server.resident_kib()
            peers = [ByHand(server.port, hello(0, writable=65536), crc=True) for _ in range(count)]
            for peer in peers:
                where = offer(peer.private_data)[3]
                try:
                    for _ in range(120):  # more than sockets take
                        peer.read_request((1, 0), 65536, where[:2])
                except (ConnectionResetError, BrokenPipeError):
                    pass
            time.sleep(1)
            grown = (server.resident_kib() - before) << 10
            for peer in peers:
                peer.close()
            self.succeeds(ping(server.address))
            self.assertLess(grown, memory + (8 << 20))
            self.assertLessEqual(server.summary()["memory_bytes_most"], memory)

    def test_memory_holds_what_has_not_come_whole(self):
        memory, count = 8 << 20, 400
        with Serving("--memory", memory, "--json") as server:
            before = server.resident_kib()
            peers = [ByHand(server.port, hello(0, writable=64), crc=True) for _ in range(count)]
            for peer in peers:
                peer.socket.sendall(struct.pack(">HBBIQ", 65000, 0xc1, 0x40 | WRITE, *offer(peer.private_data)[3][:2]) +
                                    bytes(60000))
            time.sleep(1)
            grown = (server.resident_kib() - before) << 10
            for peer in peers:
                peer.close()
            self.succeeds(ping(server.address))
            self.assertLess(grown, memory + (8 << 20))
            self.assertLessEqual(server.summary()["memory_bytes_most"], memory)

    def test_who_there_is_no_memory_for_is_told(self):
        """A local error, RFC 6581 section 9.3; what others have stays theirs."""
        with Serving("--memory", "256K", "--region", "4K", "--json") as server:
            peers = [ByHand(server.port, hello(0, writable=64), crc=True) for _ in range(16)]
            peers = [peer for peer in peers if not peer.rejected]
            for peer in peers:
                peer.tagged(WRITE, 0, 0, b"")  # nothing leaves a responder before a valid FPDU has come
                try:
                    peer.socket.sendall(struct.pack(">HBBIQ", 65000, 0xc1, 0x40 | WRITE, *offer(peer.private_data)[3][:2]) +
                                        bytes(60000))
                except ConnectionError:
                    pass
            told = 0
            for peer in peers:
                peer.socket.settimeout(2)
                try:
                    opcode, payload, _ = peer.next()
                except (Lost, TimeoutError, ConnectionError):
                    continue
                self.assertEqual((opcode, payload[:2]), (TERMINATE, b"\x20\x05"))
                told += 1
            self.assertGreater(told, 0)
            for peer in peers:
                peer.close()
            self.assertLessEqual(server.summary()["memory_bytes_most"], 256 << 10)

    def test_every_connection_ends_once(self):
        count = 40
        with Serving("--json") as server:
            for number in range(count):
                with socket.create_connection(("127.0.0.1", server.port)) as peer:
                    peer.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0, 1, 0))
                    if number % 2:  # sooner or later than the Reply
                        peer.recv(1)
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.succeeds(ping(server.address))
            found = server.summary()["connections"]
            self.assertEqual(found["handshakes_failed"] + found["failed"] + found["closed"], count + 1, found)

    def test_only_this_machine_unless_told(self):
        with Serving(listen=":0") as server:
            self.assertTrue(server.address.startswith("127.0.0.1:"))
            self.assertEqual(server.stop()[2], "")
        with Serving(listen="0.0.0.0:0") as server:
            self.assertIn("may read and write", server.stop()[2])

    def test_silent_connections_end(self):
        with Serving("--idle-timeout", "200ms", "--crc=off", "--json") as server:
            peer = ByHand(server.port)
            self.addCleanup(peer.close)
            with self.assertRaises(Lost):
                peer.take(1)
            self.assertEqual(server.summary()["connections"]["idle_closed"], 1)


class PeerByHand(TestCase):
    """What goes over the wire, by somebody who knows the RFCs, rping.c and the manual alone."""

    def setUp(self):
        super().setUp()
        self.server = Serving("--crc=off", "--json")
        self.addCleanup(self.server.__exit__)

    def connect(self, *arguments):
        peer = ByHand(self.server.port, *arguments)
        self.addCleanup(peer.close)
        return peer

    def test_rping(self):
        peer = self.connect()
        source = (0x11112222, 0x1000)
        sink = (0x33334444, 0x123456789a)
        for number in range(3):
            data = b"rdma-ping-%d: " % number + bytes(random.choices(range(65, 123), k=5000)) + b"\0"
            peer.send(struct.pack(">QII", source[1], source[0], len(data)))
            opcode, request, where = peer.next()
            self.assertEqual(opcode, READ_REQUEST)
            sink_stag, sink_offset, size, stag, offset = struct.unpack(">IQIIQ", request)
            self.assertEqual((size, stag, offset), (len(data), *source))
            peer.tagged(2, sink_stag, sink_offset, data)
            opcode, go_ahead, where = peer.next()
            self.assertEqual((opcode, len(go_ahead)), (SEND, 16))
            peer.send(struct.pack(">QII", sink[1], sink[0], len(data)))
            back = b""
            while len(back) < len(data):
                opcode, payload, where = peer.next()
                self.assertEqual((opcode, where), (WRITE, (sink[0], sink[1] + len(back))))
                back += payload
            self.assertEqual(back, data)
            opcode, done, where = peer.next()
            self.assertEqual((opcode, len(done)), (SEND, 16))
        peer.close()
        time.sleep(0.2)
        self.assertEqual(self.server.summary()["pings"]["count"], 3)

    def test_lent_memory_holds_the_pattern_and_ends_where_it_ends(self):
        peer = self.connect(hello(0, writable=4096))
        credits, longest, readable, writable = offer(peer.private_data)
        self.assertEqual((readable[2], writable[2]), (16 << 20, 4096))
        for stag, offset, length in (readable, writable):
            for begin, size in ((0, 1000), (1, 251), (length - 77, 77)):
                self.assertEqual(peer.read(size, (stag, offset + begin)), pattern(begin, size))
        self.assertEqual(peer.read(78, (readable[0], readable[1] + readable[2] - 77)), b"\x01\x01")  # RDMA, bounds

    def test_what_is_written_can_be_read(self):
        peer = self.connect(hello(0, writable=4096))
        stag, offset, length = offer(peer.private_data)[3]
        peer.tagged(WRITE, stag, offset + 100, b"written by hand")
        self.assertEqual(peer.read(20, (stag, offset + 98)), pattern(98, 2) + b"written by hand" + pattern(115, 3))

    def test_what_is_lent_to_be_read_cannot_be_written(self):
        peer = self.connect(hello(0))
        stag, offset, length = offer(peer.private_data)[2]
        peer.tagged(WRITE, stag, offset, b"x")
        opcode, payload, where = peer.next()
        self.assertEqual(opcode, TERMINATE)
        self.assertEqual(self.connect(hello(0)).read(16, offer(self.connect(hello(0)).private_data)[2][:2])[:1],
                         b"\x01")  # another connection's STag: refused as well
        fresh = self.connect(hello(0))
        self.assertEqual(fresh.read(16, offer(fresh.private_data)[2][:2]), pattern(0, 16))

    def test_nothing_of_another_connection_can_be_reached(self):
        first, second = self.connect(hello(0, writable=4096)), self.connect(hello(0, writable=4096))
        stag, offset, length = offer(first.private_data)[3]
        self.assertEqual(second.read(8, (stag, offset))[0], 0x01)  # RDMA layer, protection error
        self.assertEqual(first.read(8, (stag, offset)), pattern(0, 8))

    def test_credits_come_back(self):
        peer = self.connect(hello(1, message=100, depth=4))
        credits, longest, readable, writable = offer(peer.private_data)
        self.assertEqual((credits, longest), (4, 100))
        taken = 0
        for number in range(4):
            peer.send(bytes(100))
        while taken < 4:
            opcode, payload, where = peer.next()
            self.assertEqual((opcode, len(payload)), (SEND, 16))
            magic, back, wrong, zero = struct.unpack(">4sIII", payload)
            self.assertEqual((magic, wrong, zero), (b"RDSC", 0, 0))
            taken += back
        self.assertEqual(taken, 4)

    def test_refusals_say_why(self):
        for wish, reason in ((hello(0, version=9), b"version"), (hello(9), b"version"), (hello(0, writable=1 << 40), b"--region")):
            peer = self.connect(wish)
            self.assertTrue(peer.rejected)
            self.assertEqual(peer.private_data[:6], b"RDSC\x01\x03")
            self.assertIn(reason, peer.private_data)

    def test_without_reads_there_is_no_ping(self):
        """rping's server reads what its client lends."""
        with Serving() as server:
            self.assertIn("may not read here (IRD 0)", self.fails(ping(server.address, "--ird", 0)))
        with Serving("--ord", 0) as server:  # which it tells nobody before it is asked
            begun = time.monotonic()
            self.assertIn("closed the connection", self.fails(ping(server.address, "--timeout", "50s")))
            self.assertLess(time.monotonic() - begun, 40)

    def test_a_read_that_cannot_be_is_refused(self):
        with Serving("--json", "--crc=off", "--ord", 0) as server:
            peer = ByHand(server.port)
            self.addCleanup(peer.close)
            peer.send(struct.pack(">QII", 0x1000, 0x100, 64))
            with self.assertRaises(Lost):
                peer.take(1)
            self.assertEqual(server.summary()["sends"]["wrong"], 1)

    def test_reads_that_are_not_served(self):
        with Serving("--ird", 0) as server:
            for arguments in (["read"], ["write", "--verify"]):
                with self.subTest(arguments=arguments):
                    result = bench(*arguments[:1], server.address, *arguments[1:], "--count", 1, "--json")
                    self.assertIn("serves no reads on this connection (ORD 0)", self.fails(result))
                    self.assertIn("serves no reads", json.loads(result.stdout)["error"])

    def test_a_message_that_is_not_rpings(self):
        peer = self.connect()
        peer.send(b"how do you do")
        with self.assertRaises(Lost):
            peer.take(1)
        self.assertEqual(self.server.summary()["sends"]["wrong"], 1)


class PingByHand(TestCase):
    """ping against rping's server, made by hand."""

    PLAIN = ("--crc=off", "--mpa-revision=1")

    def test_it_speaks_rpings_protocol(self):
        for size in (1, 20, 64, 5000):
            with self.subTest(size=size):
                server = RpingServer()
                out = self.succeeds(ping(server.address, "--size", size, *self.PLAIN))
                server.finish()
                self.assertIn("3 answered, 0 with wrong data", out)
                self.assertEqual(server.private_data, b"")
                self.assertEqual([len(data) for data in server.pings], [size] * 3)
                for number, data in enumerate(server.pings):
                    self.assertEqual(data.index(0), size - 1)
                    if size > 20:
                        self.assertTrue(data.startswith(b"rdma-ping-%d: " % number))

    def test_wrong_data_are_found(self):
        server = RpingServer(damage=lambda data: data[:-2] + b"!" + data[-1:])
        result = ping(server.address, *self.PLAIN)
        server.finish()
        self.assertEqual(result.returncode, 1)
        self.assertIn("3 of 3 answers held wrong data", result.stderr)

    def test_data_that_do_not_come_back_are_found(self):
        server = RpingServer(damage=lambda data: data[:-1])
        result = ping(server.address, *self.PLAIN)
        server.finish()
        self.assertIn("3 with wrong data", result.stdout)

    def test_no_reply(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            for program in (ping, lambda *rest: bench("write", *rest)):
                begun = time.monotonic()
                message = self.fails(program(address, "--timeout", "300ms"))
                self.assertIn("no MPA Reply within 0.3 s", message)
                self.assertEqual(message.count("?"), 1, message)
                self.assertLess(time.monotonic() - begun, 3)

    def test_interrupted_before_there_is_a_reply(self):
        """What did not take place has failed; --json says so, too."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            for part in (["ping"], ["bench", "read"]):
                for form in ([], ["--json"]):
                    with self.subTest(part=part, form=form):
                        process = subprocess.Popen([BINARY, "endpoint", *part, "--to", address, *form], env=ENVIRONMENT,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                        with silent.accept()[0] as peer:
                            peer.recv(20)  # the Request: signals are caught by now
                            process.send_signal(signal.SIGINT)
                            out, error = process.communicate(timeout=60)
                        self.assertEqual(process.returncode, 1)
                        self.assertIn("ended before it was connected", error)
                        if form:
                            self.assertIn("ended before it was connected", json.loads(out)["error"])
                        else:
                            self.assertEqual(out, "")

    def test_no_answer(self):
        server = RpingServer(silent=True)
        result = ping(server.address, "--timeout", "200ms", *self.PLAIN)
        server.finish()
        self.assertEqual(result.returncode, 1)
        self.assertIn("no answer within 200 ms", result.stderr)


class Survival(TestCase):
    """Whatever comes, the next client is served, and memory stays where it is."""

    def setUp(self):
        super().setUp()
        self.server = Serving("--json")
        self.addCleanup(self.server.__exit__)
        self.succeeds(ping(self.server.address))
        self.before = self.server.resident_kib()

    def tearDown(self):
        self.succeeds(ping(self.server.address))
        self.succeeds(bench("read", self.server.address, "--count", 20, "--verify"))
        self.assertLess(self.server.resident_kib() - self.before, 64 << 10)
        super().tearDown()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=60)

    def test_port_scanners(self):
        for _ in range(500):
            with self.connect() as scanner:
                if random.random() < 0.5:
                    scanner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def test_garbage(self):
        chance = random.Random(1)
        request = b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, 0)
        for number in range(300):
            garbage = chance.randbytes(chance.randrange(1, 4000))
            with self.connect() as peer:
                try:
                    peer.sendall((request if number % 2 else b"") + garbage)
                    if number % 3 == 0:
                        peer.settimeout(0.05)
                        peer.recv(100)
                except OSError:
                    pass

    def test_http(self):
        with self.connect() as peer:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                self.assertEqual(peer.recv(1000), b"")
            except ConnectionResetError:
                pass

    def test_thousands_that_are_silent(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most[1], most[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, most)
        count = min(3000, (most[1] - 100) // 2)
        peers = []
        self.addCleanup(lambda: [peer.close() for peer in peers])
        for number in range(count):
            peers.append(self.connect())
            if number % 3 == 0:
                peers[-1].sendall(b"MPA ID Req Fra")
        self.succeeds(ping(self.server.address))
        self.assertLess(self.server.resident_kib() - self.before, 64 << 10)

    def test_a_thousand_that_are_connected(self):
        found = json.loads(self.succeeds(bench("read", self.server.address, "--connections", 1000, "--count", 3, "--depth", 1,
                                               "--size", 1000, "--json")))
        self.assertEqual(found["completed"]["count"], 3000)

    def test_streams_cut_anywhere(self):
        whole = (b"MPA ID Req Frame" + struct.pack(">BBH", 0, 1, 0) + struct.pack(">H", 34) +
                 struct.pack(">BBIIII", 0x41, 0x43, 0, 0, 1, 0) + bytes(16) + bytes(4))
        for cut in range(len(whole) + 1):
            with self.connect() as peer:
                peer.sendall(whole[:cut])


class Listen(TestCase):
    def test_a_line_for_each_thing_that_happens(self):
        with Serving("--json", "--crc=off", "-c", 1, part="listen") as server:
            peer = ByHand(server.port, b"hello?")
            peer.send(b"\x01\x02\x03")
            stag, offset, length = offer(peer.private_data)[3]
            peer.tagged(WRITE, stag, offset, b"12345")
            self.assertEqual(peer.read(6, (stag, offset)), b"12345" + pattern(5, 1))
            peer.close()
            out, error = server.process.communicate(timeout=60)
        events = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([event["event"] for event in events][:3], ["request", "established", "send"])
        self.assertEqual(events[0]["private_data"], b"hello?".hex())
        self.assertEqual((events[1]["revision"], events[1]["crc"]), (1, False))
        self.assertEqual((events[2]["octets"], events[2]["data"]), (3, "010203"))
        self.assertIn(events[-1]["event"], ("disconnected", "lost"))
        self.assertEqual((events[-1]["payload_received"], events[-1]["reads_served"]), (3 + 5 + 28, 1))  # 28: a Read Request

    def test_text(self):
        with Serving("-c", 2, part="listen") as server:  # the measurement, and what asks for processor time
            self.assertEqual(bench("send", server.address, "--count", 3, "--size", 5, "--timeout", "300ms").returncode,
                             1)  # it gives no credit back
            out, error = server.process.communicate(timeout=60)
        self.assertRegex(out, r"^\d\d:\d\d:\d\d\.\d{6} 127\.0\.0\.1:\d+ request ird=128 ")
        self.assertEqual(len(re.findall(r" send octets=5 data=[0-9a-f]{10}$", out, re.MULTILINE)), 3)


@unittest.skipUnless(capturing(), "capturing is not permitted here: what passes cannot be compared with what was counted")
class Captured(TestCase):
    """What `flows` measures is what the endpoints counted."""

    def capture(self, server):
        process = subprocess.Popen([BINARY, "flows", "-i", "lo", "-B", "65536", "--json", f"tcp port {server.port}"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while "listening on" not in process.stderr.readline():
            pass
        return process

    def flows(self, process):
        time.sleep(1.5)  # the last frames are still on their way
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, error)
        found = json.loads(out)
        if found["capture"]["kernel_dropped"]:
            self.skipTest("the kernel dropped frames: this machine is too busy")
        return found["flows"]

    @staticmethod
    def messages(flows):
        """Operation -> what all flows together have of it."""
        total = {}
        for flow in flows:
            for name, figures in flow["messages"].items():
                if figures["count"]:
                    count, octets = total.get(name, (0, 0))
                    total[name] = (count + figures["count"], octets + figures["bytes"])
        return total

    def test_messages_and_octets(self):
        for kind, options in (("write", ["--size", "64K"]), ("read", ["--size", "5000"]), ("send", ["--size", "100"]),
                              ("atomic", []), ("write", ["--size", "3000", "--verify", "--crc=off"]),
                              ("read", ["--size", "40000", "--connections", 5]), ("send", ["--size", "64", "--ping-pong"]),
                              ("write", ["--size", "70000", "--markers=on"])):
            with self.subTest(kind=kind, options=options):
                server = Serving("--json", *(option for option in options if str(option).startswith(("--crc", "--markers"))))
                with server:
                    process = self.capture(server)
                    told = json.loads(self.succeeds(bench(kind, server.address, "--count", 200, "--json", *options)))
                    flows = self.flows(process)
                    answered = server.summary()["sends"]["sent"]
                wanted = {name: (figures["count"], figures["bytes"]) for name, figures in told["messages"].items()}
                if answered["count"]:
                    count, octets = wanted.get("send", (0, 0))
                    wanted["send"] = (count + answered["count"], octets + answered["bytes"])
                self.assertEqual(self.messages(flows), wanted)
                damaged = None if "--crc=off" in options else 0
                for flow in flows:
                    self.assertEqual((flow["crc_bad"], flow["terminates"]), (damaged, 0))


if __name__ == "__main__":
    unittest.main()
