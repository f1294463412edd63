"""One captured side of an iWARP connection, played against live peers: plain sockets that know iWARP from the RFCs alone or
repeat what was captured, our endpoint, and rping. What is to be sent and answered comes from tshark, from the RFCs' table of
errors and from the applications' own reports."""
import json
import re
import socket
import struct
import subprocess
import threading
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, needs, run, tshark
from endpoints import RpingServer, Serving


def crc32c(octets):
    """RFC 3720, B.4: bit by bit."""
    crc = 0xffffffff
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xffffffff)


def fpdu(ulpdu, crc=crc32c):
    body = struct.pack(">H", len(ulpdu)) + ulpdu + bytes(-(2 + len(ulpdu)) % 4)
    return body + crc(body)


def untagged(opcode, queue, msn, payload, offset=0, version=1, ddp=1, reserved=0):
    return struct.pack(">BBIIII", 0x40 | ddp, version << 6 | opcode, reserved, queue, msn, offset) + payload


def tagged(opcode, stag, offset, payload, ddp=1):
    return struct.pack(">BBIQ", 0xc0 | ddp, 0x40 | opcode, stag, offset) + payload


def start(kind, private=b"", flags=0x40, revision=1):
    return b"MPA ID %s Frame" % kind + struct.pack(">BBH", flags, revision, len(private)) + private


def terminate(layer, kind, code):
    return fpdu(untagged(7, 2, 1, bytes([layer << 4 | kind, code, 0, 0])))


def write_capture(file, pieces):
    """`pieces`: (from the initiator, octets), each a TCP segment of a connection between 192.0.2.1:40000 and 192.0.2.2:7174."""
    ends = (b"\xc0\0\2\1", 40000), (b"\xc0\0\2\2", 7174)
    sent = [1000, 5000]
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for number, (initiator, octets) in enumerate(pieces):
            here, there = ends if initiator else ends[::-1]
            tcp = struct.pack(">HHIIBBHHH", here[1], there[1], sent[not initiator], sent[initiator], 0x50, 0x18, 1000, 0, 0)
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(octets), number, 0, 64, 6, 0) + here[0] + there[0]
            sent[not initiator] += len(octets)
            frame = bytes(12) + b"\x08\x00" + ip + tcp + octets
            out.write(struct.pack("<IIII", 1600000000, number, len(frame), len(frame)) + frame)


def streams(name, port):
    """The octets that the side with this TCP port sent, and those of the other side, put together from tshark's segments."""
    rows = tshark("-r", PCAPS / name, "-Y", f"tcp.port == {port} && tcp.len > 0", "-T", "fields", "-e", "tcp.srcport", "-e", "tcp.seq", "-e",
                  "tcp.payload", "-o", "tcp.desegment_tcp_streams:FALSE").stdout.splitlines()
    sides = [b"", b""]
    for source, sequence, payload in sorted((row.split("\t") for row in rows), key=lambda row: int(row[1])):
        side, octets = int(int(source) != port), bytes.fromhex(payload.replace(":", ""))
        known = len(sides[side]) + 1 - int(sequence)
        assert known >= 0, "octets are missing"
        sides[side] += octets[known:]
    return sides


class Parrot(threading.Thread):
    """A peer that says what the captured one said, and keeps what it hears."""

    def __init__(self, says, hears, to=None):
        super().__init__(daemon=True)
        self.says, self.hears, self.heard = says, hears, b""
        self.socket = socket.create_connection(to, timeout=60) if to else None
        if not to:
            self.listening = socket.create_server(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % self.listening.getsockname()[1]
        self.start()

    def hear(self, most):
        while len(self.heard) < most and (more := self.socket.recv(1 << 16)):
            self.heard += more

    def run(self):
        if self.socket is None:
            self.socket = self.listening.accept()[0]
            self.listening.close()
            self.socket.settimeout(20)
            self.hear(20)  # no Reply before the Request, no FPDU before the first FPDU
        first = 20 + struct.unpack(">H", self.says[18:20])[0]
        self.socket.sendall(self.says[:first])
        self.hear(20 if self.says.startswith(b"MPA ID Req") else min(60, self.hears))
        mouth = threading.Thread(target=self.socket.sendall, args=(self.says[first:],), daemon=True)
        mouth.start()
        self.hear(self.hears)
        mouth.join(timeout=60)
        try:
            self.socket.shutdown(socket.SHUT_WR)
            self.hear(1 << 40)
        except OSError:
            pass  # it has gone already
        self.socket.close()


class Serve:
    """`replay --serve` in the background."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([BINARY, "replay", *map(str, arguments), "--serve", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.address = re.search(r"listening on (\S+)", self.process.stderr.readline())[1]
        self.host, self.port = "127.0.0.1", int(self.address.rsplit(":", 1)[1])

    def finish(self):
        out, error = self.process.communicate(timeout=60)
        assert out, error
        return self.process.returncode, json.loads(out)


def flow_of(name, port):
    flows = json.loads(run("flows", "-r", PCAPS / name, "--json").stdout)["flows"]
    return next(flow["id"] for flow in flows if flow["source"]["port"] == port)


@needs("tshark")
class Faithful(TestCase):
    """Every octet of the captured side arrives, and a peer that says what it said is found equal."""
    CONNECTIONS = (("siw-rping-crc.pcap", 34491), ("siw-rping-p2p.pcap", 35385), ("made-mpa-markers.pcap", 40000), ("siw-read-bw-64k-crc.pcap", 40665),
                   ("siw-send-bw-64k-crc.pcap", 35823), ("siw-write-bw-bidir-4k-nocrc.pcap.gz", 41956), ("siw-loss1pct-send-bw.pcap", 55780),
                   ("siw-verbs-sizes.pcap.gz", 57430), ("siw-reorder-write-bw.pcap.gz", 37798), ("siw-verbs-badrkey-w.pcap", 50646))

    def check(self, heard, expected, status, report):
        self.assertEqual(len(heard), len(expected))
        self.assertTrue(heard == expected, "the octets differ")
        self.assertEqual(report["differences"], [])
        self.assertEqual((status, report["equal"], report["pieces_sent"]), (0, True, report["pieces"]))

    def test_initiator(self):
        for name, port in self.CONNECTIONS:
            with self.subTest(name):
                initiator, responder = streams(name, port)
                parrot = Parrot(responder, len(initiator))
                done = run("replay", PCAPS / name, "--flow", flow_of(name, port), "--as", "initiator", "--to", parrot.address, "--json",
                           "--timeout", "5s")
                parrot.join(timeout=60)
                self.check(parrot.heard, initiator, done.returncode, json.loads(done.stdout))

    def test_responder(self):
        for name, port in self.CONNECTIONS:
            with self.subTest(name):
                initiator, responder = streams(name, port)
                serve = Serve(PCAPS / name, "--flow", flow_of(name, port), "--as", "responder", "--timeout", "5s")
                parrot = Parrot(initiator, len(responder), to=(serve.host, serve.port))
                status, report = serve.finish()
                parrot.join(timeout=60)
                self.check(parrot.heard, responder, status, report)

    def test_a_rejection(self):
        name = "siw-mpa-reject.pcap"
        initiator, responder = streams(name, 44970)
        parrot = Parrot(responder, len(initiator))
        done = run("replay", PCAPS / name, "--as", "initiator", "--to", parrot.address, "--json", "--timeout", "1s")
        parrot.join(timeout=60)
        self.check(parrot.heard, initiator, done.returncode, json.loads(done.stdout))
        # A peer that accepts where the captured one rejected is found out.
        parrot = Parrot(start(b"Rep", responder[20:], 0x50, 2), len(initiator))
        done = run("replay", PCAPS / name, "--as", "initiator", "--to", parrot.address, "--json", "--timeout", "1s")
        self.assertEqual(done.returncode, 1)
        self.assertIn(("rejected", "yes", "no"), [(d["what"], d["captured"], d["live"]) for d in json.loads(done.stdout)["differences"]])


class Steered(TestCase):
    """What names the peer's memory is written as the live peer tells it."""

    def conversation(self, damage=False):
        """The peer tells of a region in its private data, big-endian, and of one in a Send, little-endian."""
        wrong = (lambda body: bytes(b ^ 0x11 for b in crc32c(body))) if damage else crc32c
        told = struct.pack(">QII", 0x7f0000001000, 0xabc123, 4096)
        message = struct.pack("<IIQ", 7, 0x5eed5eed, 0x2000)
        return ([(True, start(b"Req")), (False, start(b"Rep", told)), (True, fpdu(tagged(0, 0xabc123, 0x7f0000001000, b"written"))),
                 (True, fpdu(tagged(0, 0xabc123, 0x7f0000001800, b"further"), wrong)), (True, fpdu(untagged(3, 0, 1, b"go on"))),
                 (False, fpdu(untagged(3, 0, 1, message))),
                 (True, fpdu(untagged(1, 1, 1, struct.pack(">IQIIQ", 0x77, 0x100, 8, 0x5eed5eed, 0x2040)))),
                 (False, fpdu(tagged(2, 0x77, 0x100, b"88888888"))),
                 (False, fpdu(untagged(1, 1, 1, struct.pack(">IQIIQ", 0xcafe, 0x9000, 16, 0x99, 0x40)))),
                 (True, fpdu(tagged(2, 0xcafe, 0x9000, b"sixteen octets !"))), (True, fpdu(untagged(4, 0, 2, b"", reserved=0xabc123)))], wrong)

    def play(self, damage=False):
        pieces, wrong = self.conversation(damage)
        file = self.folder / "steered.pcap"
        write_capture(file, pieces)
        live = [start(b"Rep", struct.pack(">QII", 0x55aa00000000, 0x1234abcd, 4096)),
                fpdu(untagged(3, 0, 1, struct.pack("<IIQ", 7, 0x0badbead, 0xf00000))), fpdu(tagged(2, 0x77, 0x100, b"88888888")),
                fpdu(untagged(1, 1, 1, struct.pack(">IQIIQ", 0xbeef, 0xa000, 16, 0x99, 0x40)))]
        expected = [start(b"Req"), fpdu(tagged(0, 0x1234abcd, 0x55aa00000000, b"written")),
                    fpdu(tagged(0, 0x1234abcd, 0x55aa00000800, b"further")), fpdu(untagged(3, 0, 1, b"go on")),
                    fpdu(untagged(1, 1, 1, struct.pack(">IQIIQ", 0x77, 0x100, 8, 0x0badbead, 0xf00040))),
                    fpdu(tagged(2, 0xbeef, 0xa000, b"sixteen octets !")), fpdu(untagged(4, 0, 2, b"", reserved=0x1234abcd))]
        parrot = Parrot(b"".join(live), sum(map(len, expected)))
        done = run("replay", file, "--as", "initiator", "--to", parrot.address, "--json", "--timeout", "5s")
        parrot.join(timeout=60)
        return parrot.heard, expected, done

    def test_stags_and_offsets(self):
        heard, expected, done = self.play()
        self.assertEqual(heard, b"".join(expected))
        report = json.loads(done.stdout)
        self.assertEqual((report["differences"], report["notes"][:0], done.returncode), ([], [], 0))

    def test_a_wrong_crc_stays_wrong(self):
        heard, expected, done = self.play(damage=True)
        at = len(b"".join(expected[:2]))
        size = len(expected[2])
        self.assertEqual(heard[:at + size - 4], b"".join(expected[:3])[:-4])
        self.assertEqual(heard[at + size:], b"".join(expected[3:]))
        # The same bits are wrong.
        self.assertEqual(bytes(a ^ b for a, b in zip(heard[at + size - 4:at + size], expected[2][-4:])), b"\x11" * 4)

    def test_differences_are_told_one_by_one(self):
        file = self.folder / "plain.pcap"
        write_capture(file, [(True, start(b"Req")), (False, start(b"Rep", b"four")), (True, fpdu(untagged(3, 0, 1, b"question"))),
                             (False, fpdu(untagged(3, 0, 1, b"an answer"))), (False, fpdu(untagged(3, 0, 2, b"another")))])
        parrot = Parrot(start(b"Rep", b"five", 0x00) + fpdu(untagged(3, 0, 1, b"an Answer")), 20 + len(fpdu(untagged(3, 0, 1, b"question"))))
        done = run("replay", file, "--as", "initiator", "--to", parrot.address, "--json", "--timeout", "1s")
        self.assertEqual(done.returncode, 1)
        told = [(d["frame"], d["what"], d["captured"], d["live"]) for d in json.loads(done.stdout)["differences"]]
        self.assertEqual(told, [(2, "CRC asked for", "yes", "no"), (2, "3 bytes, from byte 1", b"our".hex(), b"ive".hex()),
                                (4, "1 bytes, from byte 3", b"answer".hex(), b"Answer".hex()), (5, "did not come", told[3][2], None)])


    def test_a_single_one_is_counted_as_one(self):
        file = self.folder / "plain.pcap"
        write_capture(file, [(True, start(b"Req")), (False, start(b"Rep", b"four")), (True, fpdu(untagged(3, 0, 1, b"question"))),
                             (False, fpdu(untagged(3, 0, 1, b"an answer")))])
        parrot = Parrot(start(b"Rep", b"four") + fpdu(untagged(3, 0, 1, b"an Answer")), 20 + len(fpdu(untagged(3, 0, 1, b"question"))))
        done = run("replay", file, "--as", "initiator", "--to", parrot.address)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "1 difference")


class Answers(TestCase):
    """What the endpoint answers to what is wrong is what the RFCs' tables say."""
    # A responder sends nothing before it has got one valid FPDU (RFC 5044, 7.1.2): an empty Write is one.
    @staticmethod
    def ready():
        return (True, start(b"Req")), (False, start(b"Rep")), (True, fpdu(tagged(0, 0, 0, b"")))

    READ = struct.pack(">IQIIQ", 1, 0, 8, 0xdead, 0)
    TABLE = (("bad CRC", fpdu(untagged(3, 0, 1, bytes(16)), lambda body: b"oops"), (2, 0, 2)),
             ("DDP version, tagged", fpdu(tagged(0, 1, 0, b"x", ddp=2)), (1, 1, 4)),
             ("DDP version, untagged", fpdu(untagged(3, 0, 1, b"x", ddp=2)), (1, 2, 6)),
             ("RDMAP version", fpdu(untagged(3, 0, 1, b"x", version=3)), (0, 2, 5)),
             ("opcode", fpdu(untagged(12, 0, 1, b"x")), (0, 2, 6)),
             ("queue", fpdu(untagged(3, 5, 1, b"x")), (1, 2, 1)),
             ("MSN", fpdu(untagged(3, 0, 70, b"x")), (1, 2, 3)),
             ("MO", fpdu(untagged(3, 0, 1, b"x", offset=5)), (1, 2, 4)),
             ("Send too long", fpdu(untagged(3, 0, 1, bytes(4000))), (1, 2, 5)),
             ("Write, STag", fpdu(tagged(0, 0xdead, 0, b"x")), (1, 1, 0)),
             ("Read Request, STag", fpdu(untagged(1, 1, 1, READ)), (0, 1, 0)),
             ("Read Response nobody asked for", fpdu(tagged(2, 1, 0, b"x")), (0, 2, 6)),
             ("Immediate Data not 8 octets", fpdu(untagged(8, 0, 1, b"1234567")), (0, 2, 0xff)))

    def differences(self, server, file, *options):
        done = run("replay", file, "--as", "initiator", "--to", server.address, "--json", "--timeout", "2s", *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        # The endpoint's private data is its own.
        return [d for d in json.loads(done.stdout)["differences"] if not d["message"].startswith("MPA Reply")]

    def test_the_table(self):
        file = self.folder / "wrong.pcap"
        with Serving() as server:
            for name, wrong, error in self.TABLE:
                with self.subTest(name):
                    write_capture(file, [*self.ready(), (True, wrong), (False, terminate(*error))])
                    self.assertEqual(self.differences(server, file), [])

    def test_another_error_is_a_difference(self):
        file = self.folder / "other.pcap"
        with Serving() as server:
            write_capture(file, [*self.ready(), (True, self.TABLE[0][1]), (False, terminate(1, 1, 1))])
            found = self.differences(server, file)
        self.assertEqual([d["what"] for d in found], ["error"])
        self.assertIn("1/1/01", found[0]["captured"])
        self.assertIn("2/0/02", found[0]["live"])

    def test_captured_violations(self):
        # What Linux siw answered to vtest's wrong STag is answered today: the server is another program, and knows none of them.
        with Serving() as server:
            for name, error in (("siw-verbs-badrkey-w.pcap", "1/1/00"), ("siw-verbs-badrkey-r.pcap", "0/1/00")):
                with self.subTest(name):
                    self.assertEqual([d for d in self.differences(server, PCAPS / name) if "Terminate" in d["message"]], [])
            # The same against a Write that was answered with another error.
            flows = json.loads(run("flows", "-r", PCAPS / "made-terminate.pcap", "--json").stdout)["flows"]
            for port, told in ((41005, None), (41006, "1/1/01"), (41009, "2/0/02")):
                flow = next(flow["id"] for flow in flows if flow["source"]["port"] == port)
                found = [d["captured"] for d in self.differences(server, PCAPS / "made-terminate.pcap", "--flow", flow) if d["what"] == "error"]
                self.assertEqual(len(found), 0 if told is None else 1)
                self.assertTrue(told is None or told in found[0], found)

    def test_rping_against_the_endpoint(self):
        # The captured client of siw, ten rounds: the server's own account, and nothing but its private data is different.
        with Serving("--json") as server:
            found = self.differences(server, PCAPS / "siw-rping-crc.pcap", "--flow", flow_of("siw-rping-crc.pcap", 34491))
            self.assertEqual(found, [])
            self.assertEqual(server.summary()["pings"], {"count": 10, "bytes": 640})

    def test_rping_against_a_server_by_hand(self):
        server = RpingServer()
        done = run("replay", PCAPS / "siw-rping-nocrc.pcap.gz", "--flow", flow_of_first("siw-rping-nocrc.pcap.gz"), "--as", "initiator", "--to",
                   server.address, "--json", "--timeout", "2s")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        server.finish()
        # rping.c: "rdma-ping-N: " and then letters.
        self.assertGreater(len(server.pings), 5)
        for number, data in enumerate(server.pings):
            self.assertTrue(data.startswith(b"rdma-ping-%d: " % number), data)


def flow_of_first(name):
    flows = json.loads(run("flows", "-r", PCAPS / name, "--json").stdout)["flows"]
    return next(flow["id"] for flow in flows if flow["destination"]["port"] == 7174)


class Responder(TestCase):
    @needs("rping")
    def test_rping_is_content_with_a_captured_server(self):
        if (ready := run("run", "--software", "--", "true")).returncode != 0:
            self.skipTest(ready.stderr)
        serve = Serve(PCAPS / "siw-rping-p2p.pcap", "--flow", flow_of("siw-rping-p2p.pcap", 35385), "--as", "responder", "--timeout", "5s")
        client = subprocess.run([BINARY, "run", "--software", "--", "rping", "-c", "-a", "127.0.0.1", "-p", str(serve.port), "-C", "10", "-v", "-V"],
                                capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        status, report = serve.finish()
        # rping compares what came back with what it had sent: the captured Writes have reached its memory of today.
        self.assertEqual(client.returncode, 0, client.stdout + client.stderr + json.dumps(report))
        self.assertEqual(report["pieces_sent"], report["pieces"])


class Impaired(TestCase):
    def test_delay_and_corruption_on_the_way(self):
        file = self.folder / "some.pcap"
        write_capture(file, [(True, start(b"Req")), (False, start(b"Rep"))] + [(True, fpdu(untagged(3, 0, n, bytes(1400)))) for n in range(1, 41)])
        expected = start(b"Req") + b"".join(fpdu(untagged(3, 0, n, bytes(1400))) for n in range(1, 41))
        parrot = Parrot(start(b"Rep"), len(expected))
        begun = time.monotonic()
        done = run("replay", file, "--as", "initiator", "--to", parrot.address, "--delay", "200", "--corrupt", "50%", "--seed", "5", "--timeout", "5s")
        parrot.join(timeout=60)
        # The Request there, the Reply back, and the messages there.
        self.assertGreater(time.monotonic() - begun, 0.6)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(parrot.heard), len(expected))
        bits = sum((a ^ b).bit_count() for a, b in zip(parrot.heard, expected))
        # Of 40 blocks about half have one bit changed: 20, with a deviation of 3.2.
        self.assertTrue(4 <= bits <= 36, bits)


class Refused(TestCase):
    def test_without_a_beginning(self):
        file = self.folder / "middle.pcap"
        write_capture(file, [(True, fpdu(untagged(3, 0, 1, b"x")))])
        self.assertIn("no MPA Request", self.fails(run("replay", file, "--as", "initiator", "--to", "127.0.0.1:1")))

    def test_several_connections_are_listed(self):
        error = self.fails(run("replay", PCAPS / "siw-rping-crc.pcap", "--as", "initiator", "--to", "127.0.0.1:1"))
        self.assertIn("4 connections begin in this capture", error)
        self.assertIn(f"--flow {flow_of('siw-rping-crc.pcap', 34491)} ", error)

    def test_no_such_flow(self):
        error = self.fails(run("replay", PCAPS / "siw-rping-crc.pcap", "--flow", 12345, "--as", "initiator", "--to", "127.0.0.1:1"))
        self.assertIn("--flow 12345: no such iWARP flow", error)

    def test_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        error = self.fails(run("replay", PCAPS / "siw-mpa-reject.pcap", "--as", "initiator", "--to", f"127.0.0.1:{port}"))
        self.assertIn("Connection refused", error)

    def test_nobody_listens_behind_what_is_in_the_way(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        for file, options in (("siw-mpa-reject.pcap", ["--as", "initiator"]), ("rxe-rping.pcap", [])):
            error = self.fails(run("replay", PCAPS / file, *options, "--to", f"127.0.0.1:{port}", "--delay", "1"))
            self.assertEqual(error, f"rdmascope replay: cannot connect to 127.0.0.1:{port}: Connection refused\n")

    def test_a_name_with_two_addresses(self):
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no name can be given two addresses without a mount namespace")
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.2 twice.test\n127.0.0.1 twice.test\n")
        file = self.folder / "one.pcap"
        write_capture(file, [(True, start(b"Req")), (False, start(b"Rep")), (True, fpdu(untagged(3, 0, 1, b"ping")))])
        for way in ([], ["--delay", "1"]):
            parrot = Parrot(start(b"Rep"), 48)
            port = parrot.address.rsplit(":", 1)[1]
            done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, BINARY, "replay", file,
                                   "--as", "initiator", "--to", f"twice.test:{port}", *way],
                                  capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_a_message_without_an_end(self):
        file = self.folder / "one.pcap"
        write_capture(file, [(True, start(b"Req")), (False, start(b"Rep")), (True, fpdu(untagged(3, 0, 1, b"ping")))])
        serve = Serve(file, "--as", "responder")
        # Without the bit that says Last.
        endless = fpdu(struct.pack(">BBIIII", 0x01, 0x43, 0, 0, 1, 0) + bytes(8000)) * 128
        with socket.create_connection((serve.host, serve.port)) as peer:
            peer.sendall(start(b"Req"))
            with self.assertRaises(OSError):
                for _ in range(1000):
                    peer.sendall(endless)
        status, report = serve.finish()
        self.assertEqual(status, 1)
        self.assertRegex(report["error"], r"far more than it did in the capture.*one message does not end: Send queue 0 msn 1, \d+ bytes so far")

    def test_one_sided_captures(self):
        file = self.folder / "one.pcap"
        write_capture(file, [(True, start(b"Req")), (True, fpdu(untagged(3, 0, 1, b"x")))])
        self.assertIn("no byte of the responder", self.fails(run("replay", file, "--as", "responder", "--to", "127.0.0.1:1")))
        parrot = Parrot(start(b"Rep"), 20)
        done = run("replay", file, "--as", "initiator", "--to", parrot.address, "--timeout", "1s")
        self.assertIn("the capture has nothing of the peer", done.stdout)


if __name__ == "__main__":
    unittest.main()
