"""The daemon as root among users and hosts that mean harm: what others put into its folders, frames that are made up, and clients
that ask without end. Each test is a promise of SECURITY.md."""
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from path import BINARY, ENVIRONMENT, needs_namespaces
from side_by_side import load_tests
from test_daemon import PATIENCE_SECONDS, Daemon, Wire, told

NOBODY = 65534
HEARD_SECONDS = 4  # a second is promised; the rest is for a machine that is busy
SEND = """
import socket, struct, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[1], 0))
octets = sys.stdin.buffer.read()
at = 0
while at < len(octets):
    size = struct.unpack_from("<H", octets, at)[0]
    link.send(octets[at + 2:at + 2 + size])
    at += 2 + size
"""


def setUpModule():
    if os.getuid() != 0:
        raise unittest.SkipTest("only root can be attacked by another user")
    needs_namespaces()


def ipv4(protocol, payload, source="10.0.0.1", destination="10.0.0.2"):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, socket.inet_aton(source),
                       socket.inet_aton(destination))
    return b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + head + payload


def tcp(source, destination, sequence, payload, flags=0x18, acknowledged=1, back=False):
    segment = struct.pack(">HHIIBBHHH", source, destination, sequence, acknowledged, 0x50, flags, 1000, 0, 0) + payload
    return ipv4(6, segment, "10.0.0.2", "10.0.0.1") if back else ipv4(6, segment)


def mpa_request(port, source=50000, sequence=1, acknowledged=1):
    return tcp(source, port, sequence, b"MPA ID Req Frame" + bytes([0x40, 1, 0, 0]), acknowledged=acknowledged)


def mpa_reply(port, sequence, acknowledged, destination=50000):
    return tcp(port, destination, sequence, b"MPA ID Rep Frame" + bytes([0x40, 1, 0, 0]), acknowledged=acknowledged, back=True)


def roce(number, psn):
    """A SEND Only of a queue pair of its own."""
    bth = struct.pack(">BBHII", 0x04, 0x40, 0xffff, number & 0xffffff, psn)
    payload = struct.pack(">HHHH", 49152 + number % 16384, 4791, 8 + 12 + 8 + 4, 0) + bth + bytes(8) + bytes(4)
    return ipv4(17, payload, source=f"10.1.{number >> 8 & 255}.{number & 255}")


def send(wire, frames, interface="send0"):
    octets = b"".join(struct.pack("<H", len(frame)) + frame for frame in frames)
    subprocess.run(wire.command("python3", "-c", SEND, interface), input=octets, check=True, timeout=PATIENCE_SECONDS)


def run_daemon(wire, config, **options):
    """A start that fails; its status and text."""
    return subprocess.run(wire.command(BINARY, "daemon", "--config", config), capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=PATIENCE_SECONDS, **options)


class Folders(unittest.TestCase):
    """Folders that another user may write, and what that user can put there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-attack-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.victim = self.folder / "victim"
        self.victim.write_text("secret")
        self.victim.chmod(0o600)
        self.theirs = self.folder / "theirs"
        self.theirs.mkdir()
        os.chown(self.theirs, NOBODY, NOBODY)
        self.theirs.chmod(0o777)  # the daemon gives up the right to write everywhere
        self.config = self.folder / "rdmascope.toml"
        self.wire = Wire()
        self.wire.__enter__()
        self.addCleanup(self.wire.__exit__)

    def write(self, text):
        self.config.write_text('[capture]\ninterfaces = ["tap0"]\n[prometheus]\nlisten = ""\n' + text)

    def refuses(self, *words):
        done = run_daemon(self.wire, self.config)
        self.assertEqual(done.returncode, 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("ready", done.stderr)
        self.assertEqual(self.victim.read_text(), "secret")
        return done.stderr

    def test_the_lock_of_the_history_is_no_link(self):
        self.write(f'[control]\nsocket = ""\n[history]\ndirectory = "{self.theirs}"\n')
        (self.theirs / "lock").symlink_to(self.victim)
        self.refuses("theirs/lock", "is a symbolic link")
        (self.theirs / "lock").unlink()
        os.link(self.victim, self.theirs / "lock")
        self.refuses("theirs/lock", "hard link")

    def test_a_fifo_in_the_history_does_not_hang_the_start(self):
        self.write(f'[control]\nsocket = ""\n[history]\ndirectory = "{self.theirs}"\n')
        os.mkfifo(self.theirs / "00000001.rdmahist", 0o666)
        self.refuses("00000001.rdmahist", "is a FIFO")

    def test_a_folder_that_another_user_can_exchange_is_not_used(self):
        inside = self.folder / "inside"
        inside.mkdir()
        (self.theirs / "link").symlink_to(inside)
        os.chown(self.theirs / "link", NOBODY, NOBODY, follow_symlinks=False)
        for text in (f'[control]\nsocket = ""\n[history]\ndirectory = "{self.theirs}/link/h"\n',
                     f'[control]\nsocket = ""\n[recorder]\ndirectory = "{self.theirs}/link"\n',
                     f'[control]\nsocket = "{self.theirs}/link/s"\n'):
            with self.subTest(text):
                self.write(text)
                self.refuses("`link`", "another user")
                self.assertEqual(list(inside.iterdir()), [])

    def test_the_socket_replaces_nothing_of_another_user(self):
        self.write(f'[control]\nsocket = "{self.theirs}/daemon.sock"\n')
        (self.theirs / "daemon.sock").symlink_to(self.victim)
        self.refuses("theirs/daemon.sock")

    def test_a_fifo_is_no_configuration_at_the_start_or_at_a_reload(self):
        os.mkfifo(self.config)
        self.refuses("is a FIFO")
        self.config.unlink()
        with Daemon(self.wire) as daemon:
            daemon.file.unlink()
            os.mkfifo(daemon.file)
            pid = daemon_pid(daemon)
            os.kill(pid, signal.SIGHUP)
            daemon.wait_for("the refusal", lambda: "is a FIFO" in daemon.log())
            self.assertEqual(daemon.ask(command="status")["ok"], True)
            self.assertLess(seconds_to_end(daemon, pid), HEARD_SECONDS)


def daemon_pid(daemon):
    found = subprocess.run(["pgrep", "-f", f"^{BINARY} daemon --config {daemon.file}"], capture_output=True, text=True)
    return int(found.stdout.split()[0])


def seconds_to_end(daemon, pid):
    begun = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    daemon.process.wait(timeout=PATIENCE_SECONDS)
    return time.monotonic() - begun


class Frames(unittest.TestCase):
    """Frames that any host can make up."""
    CONFIG = '[recorder]\ndirectory = "{}"\nbefore = "30s"\nafter = "1s"\npause = "1s"\n'

    def recording(self, daemon):
        self.assertTrue(daemon.ask(command="trigger", reason="a test")["ok"])
        kept = daemon.wait_for("the recording", lambda: [file for file in daemon.recordings.glob("*.pcapng")])
        return kept[0].read_bytes()

    def flooded(self, wire, environment=None):
        """A daemon that is to meet forged Requests to 300 ports, next to ordinary traffic before and after them."""
        daemon = Daemon(wire, record=True, environment=environment)
        daemon.write(self.CONFIG.format(daemon.recordings) + "[log]\nmax_lines_per_sec = 10\n")
        return daemon

    def flood(self, wire):
        send(wire, [tcp(40000, 80, 1, b"GET /before HTTP/1.1"), roce(1, 1)])
        for begin in range(2000, 2300, 50):
            send(wire, [mpa_request(port) for port in range(begin, begin + 50)])
        send(wire, [tcp(40000, 2001, 1, b"GET /learnt HTTP/1.1"), tcp(40000, 80, 100, b"GET /after HTTP/1.1")])

    def nothing_else_was_kept(self, daemon):
        octets = self.recording(daemon)
        self.assertNotIn(b"GET /", octets)
        self.assertIn(b"MPA ID Req Frame", octets)

    def test_a_flood_of_requests_widens_nothing(self):
        """The kernel learns connections, and none from one frame alone."""
        with Wire() as wire, self.flooded(wire) as daemon:
            if daemon.total("rdmascope_iwarp_learning_in_kernel") == 0:
                self.skipTest("this kernel permits no eBPF")
            self.flood(wire)
            # The same ends as those of the Requests: past the 16 KiB that pass while it is not known what they speak, and the other way.
            send(wire, [tcp(50000, port, 30000, b"GET /same-ends HTTP/1.1") for port in range(2000, 2300)])
            send(wire, [tcp(40000, 80, 200, b"GET /much-later HTTP/1.1"), tcp(40000, 2299, 1, b"GET /later HTTP/1.1"), roce(1, 2)])
            daemon.wait_for("the packets", lambda: daemon.ask(command="status")["result"]["packets"] >= 302)
            self.nothing_else_was_kept(daemon)
            self.assertEqual(daemon.ask(command="status")["result"]["packets"], 302, "the Requests, and the two RoCE packets")
            self.assertEqual(daemon.ask(command="status")["result"]["iwarp_learning"]["learnt"], 0)

    def test_a_flood_of_ports_widens_nothing_without_ebpf(self):
        with Wire() as wire, self.flooded(wire, {"RDMASCOPE_EBPF": "off"}) as daemon:
            # All TCP passes for two seconds at the start, for connections to be found; none of that is kept.
            self.flood(wire)
            daemon.wait_for("the warning", lambda: "more TCP ports look like iWARP" in daemon.log())
            daemon.wait_for("the end of discovery",
                            lambda: not daemon.ask(command="status")["result"]["interfaces"][0]["filter"].endswith(" or tcp"))
            send(wire, [tcp(40000, 80, 200, b"GET /much-later HTTP/1.1"), tcp(40000, 2299, 1, b"GET /later HTTP/1.1"), roce(1, 2)])
            self.nothing_else_was_kept(daemon)
            self.assertLessEqual(len(re.findall("speaks MPA", daemon.log())), 70)

    def ordinary_connections_with_forged_frames(self):
        """Connections of HTTP from their SYNs on, and in their middle the frames that a host forged with their ends and numbers."""
        frames = []
        forgeries = [lambda port: [mpa_request(port, sequence=1021, acknowledged=5001)],
                     lambda port: [mpa_request(port, sequence=1021, acknowledged=5001)] * 3,
                     lambda port: [mpa_reply(port, 5001, 1021)],
                     lambda port: [mpa_reply(port, 5001, 1021), mpa_request(port, sequence=1021, acknowledged=5001)],
                     lambda port: [mpa_request(port, sequence=1021, acknowledged=5001), mpa_reply(port, 5001, 1041)]]
        for port, forge in enumerate(forgeries, 8000):
            frames += [tcp(50000, port, 1000, b"", flags=0x02), tcp(port, 50000, 5000, b"", flags=0x12, acknowledged=1001, back=True),
                       tcp(50000, port, 1001, b"GET /1 HTTP/1.1\r\n\r\n.", acknowledged=5001)]
            frames += forge(port)
            frames += [tcp(50000, port, 1021, b"GET /private HTTP/1.1 and the rest of it", acknowledged=5001),
                       tcp(port, 50000, 5001, b"HTTP/1.1 200 OK: a secret, and the rest of it", acknowledged=1061, back=True),
                       tcp(50000, port, 1061, b"GET /another HTTP/1.1 and the rest of it", acknowledged=5046)]
        return frames

    def test_forged_frames_with_a_connections_own_ends_record_nothing_of_it(self):
        for environment in ({}, {"RDMASCOPE_EBPF": "off"}):
            with self.subTest(environment), Wire() as wire, self.flooded(wire, environment) as daemon:
                send(wire, [*self.ordinary_connections_with_forged_frames(), roce(1, 1)])
                daemon.wait_for("the packets", lambda: daemon.ask(command="status")["result"]["packets"] >= 1)
                octets = self.recording(daemon)
                self.assertIn(b"MPA ID Req Frame", octets)
                for text in (b"GET /", b"HTTP/1.1"):
                    self.assertNotIn(text, octets)

    def test_what_is_iwarp_is_recorded(self):
        with Wire() as wire:
            daemon = Daemon(wire, record=True, snaplen=0)
            daemon.write(self.CONFIG.format(daemon.recordings))
            with daemon:
                sent = wire.play("siw-rping-crc.pcap", "--speed", "max")
                daemon.wait_for("the frames", lambda: daemon.ask(command="status")["result"]["packets"] >= sent - 20)
                self.recording(daemon)
                kept = next(daemon.recordings.glob("*.pcapng"))
                flows = told("flows", "-n", "--json", "-r", kept)["flows"]
                expected = told("flows", "-n", "--json", "-r", pathlib.Path(os.environ["RDMASCOPE_PCAPS"]) / "siw-rping-crc.pcap")["flows"]
                self.assertEqual(sum(flow["payload_bytes"] for flow in flows), sum(flow["payload_bytes"] for flow in expected))


class Clients(unittest.TestCase):
    def test_clients_that_ask_and_do_not_read_hold_nothing_up(self):
        with Wire() as wire, Daemon(wire, config="[engine]\nmax_flows = 16384\n") as daemon:
            for begin in range(0, 8000, 500):
                send(wire, [roce(number, 1) for number in range(begin, begin + 500)])
            daemon.wait_for("the flows", lambda: daemon.ask(command="status")["result"]["flows"] > 4000)
            begun = time.monotonic()
            self.assertTrue(daemon.ask(command="why")["ok"])
            one = time.monotonic() - begun  # what a machine that is busy needs for one answer
            heap = b'{"command":"why"}\n' * 500
            clients = []
            for _ in range(59):
                client = socket.socket(socket.AF_UNIX)
                client.connect(str(daemon.socket))
                client.setblocking(False)
                client.send(heap)
                self.addCleanup(client.close)
                clients.append(client)
            time.sleep(1)
            begun = time.monotonic()
            self.assertTrue(daemon.ask(command="version")["ok"])
            self.assertLess(time.monotonic() - begun, 15 + 20 * one)
            self.assertLess(seconds_to_end(daemon, daemon_pid(daemon)), HEARD_SECONDS + 20 * one)

    def test_a_history_of_any_size_is_no_obstacle(self):
        with Wire() as wire:
            daemon = Daemon(wire, history=True)
            daemon.write(f'[history]\ndirectory = "{daemon.history}"\ninterval = "1s"\n')
            with daemon:
                with open(daemon.history / "00000000.rdmahist", "wb") as file:
                    file.truncate(10 << 30)
                asked = daemon.ask(command="history")
                self.assertTrue(asked["ok"], asked)
                self.assertLess(seconds_to_end(daemon, daemon_pid(daemon)), HEARD_SECONDS)
                begun = time.monotonic()
                subprocess.run([BINARY, "flows", "--history", daemon.history], capture_output=True, env=ENVIRONMENT, timeout=PATIENCE_SECONDS)
                self.assertLess(time.monotonic() - begun, 10)


class Restricted(unittest.TestCase):
    def modes(self, daemon):
        """The seccomp mode of each thread: 0 off, 2 a filter."""
        found = set()
        for status in pathlib.Path(f"/proc/{daemon_pid(daemon)}/task").glob("*/status"):
            found.add(int(re.search(r"^Seccomp:\s+(\d)", status.read_text(), re.MULTILINE)[1]))
        return found

    def test_every_thread_has_restricted_system_calls_unless_told_otherwise(self):
        sanitized = b"__asan_init" in pathlib.Path(BINARY).read_bytes()
        with Wire() as wire, Daemon(wire, history=True, config='[service]\nuser = "nobody"\n') as daemon:
            self.assertEqual(self.modes(daemon), {0} if sanitized else {2})
        with Wire() as wire, Daemon(wire, config="[service]\nrestrict_system_calls = false\n") as daemon:
            self.assertEqual(self.modes(daemon), {0})


class Programs(unittest.TestCase):
    """Rings that an unprivileged user makes for the daemon to read."""
    LANES, CAPACITY, PAGE = 1, 256, 4096

    def ring(self, folder, name, written, version):
        head = struct.pack("<8sIIIIIIQQqQQII", b"rscoperg", version, 64, self.LANES, self.CAPACITY, 1, NOBODY, 0, 0, time.time_ns(), 0,
                           (1 << 64) - 1, 0, 0).ljust(self.PAGE, b"\0")
        lane = struct.pack("<QqI", written, 0, 1).ljust(self.PAGE, b"\0")
        path = pathlib.Path(folder, name + ".x")
        path.write_bytes(head + lane + bytes(self.LANES * self.CAPACITY * 64))
        os.chown(path, NOBODY, NOBODY)
        path.rename(path.with_suffix(".ring"))
        return path.with_suffix(".ring")

    def version(self):
        header = pathlib.Path(__file__).resolve().parents[2] / "wire" / "trace" / "record.h"
        layout = pathlib.Path(__file__).resolve().parents[2] / "trace" / "ring" / "ring_layout.h"
        return int(re.search(r"\bversion = (\d+)", layout.read_text() + header.read_text())[1])

    def test_what_a_user_claims_does_not_become_a_sum(self):
        with Wire() as wire, tempfile.TemporaryDirectory(prefix="rdmascope-rings-") as rings:
            os.chmod(rings, 0o1777)
            with Daemon(wire, config="[traces]\nprograms = true\n", environment={"RDMASCOPE_TRACE_DIR": rings}) as daemon:
                for number in range(20):
                    self.ring(rings, f"lie{number}", (1 << 64) - 1 - number, self.version())
                daemon.wait_for("the rings", lambda: daemon.ask(command="status")["result"]["trace_records_lost"] > 0)
                time.sleep(1)
                lost = daemon.ask(command="status")["result"]["trace_records_lost"]
                self.assertLess(lost, 40 << 21)


if __name__ == "__main__":
    unittest.main()
