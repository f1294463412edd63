"""The daemon on a wire: captures are put on one end of a veth pair, the daemon listens on the other, and what it says afterwards is
held to what `rdmascope flows -r` says of the same capture, and to the capture's own truth where it has one."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from path import BINARY, ENVIRONMENT, needs_namespaces
from side_by_side import load_tests

SENDER = os.environ["RDMASCOPE_FRAME_SENDER"]
PCAPS = pathlib.Path(os.environ["RDMASCOPE_PCAPS"])
PATIENCE_SECONDS = 60


def setUpModule():
    needs_namespaces()


class Wire:
    """A namespace with a veth pair: frames sent on `send0` arrive at `tap0`, where the daemon listens."""

    def __init__(self):
        self.namespace = f"rdmascope-daemon-{os.getpid()}-{id(self) & 0xffff}"

    def __enter__(self):
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        self.within("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        self.within("ip", "link", "set", "lo", "up")
        self.plug()
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.namespace], check=False)

    def plug(self):
        self.within("ip", "link", "add", "send0", "type", "veth", "peer", "name", "tap0")
        for name in ("send0", "tap0"):
            self.within("ip", "link", "set", name, "mtu", "65535", "up")
        deadline = time.monotonic() + 10
        while "LOWER_UP" not in self.within("ip", "-o", "link", "show", "tap0").stdout:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def unplug(self):
        self.within("ip", "link", "del", "send0")

    def command(self, *arguments):
        return ["ip", "netns", "exec", self.namespace, *map(str, arguments)]

    def within(self, *arguments, check=True):
        return subprocess.run(self.command(*arguments), check=check, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)

    def play(self, capture, *options):
        """Puts a capture's frames on the wire; returns how many they were."""
        sent = self.within(SENDER, "send0", PCAPS / capture, *options)
        return json.loads(sent.stdout)["frames"]


class Daemon:
    def __init__(self, wire, *options, config="", environment=None, interfaces=("tap0",), history=False, record=False, snaplen=192):
        self.wire, self.folder = wire, pathlib.Path(tempfile.mkdtemp(prefix="rdmascope-daemon-"))
        self.socket = self.folder / "control" / "daemon.sock"
        self.socket.parent.mkdir()
        self.history, self.recordings = self.folder / "history", self.folder / "recordings"
        self.file = self.folder / "rdmascope.toml"
        self.base = f'[capture]\ninterfaces = {json.dumps(interfaces)}\nsnaplen = {snaplen}\n'
        self.base += f'[control]\nsocket = "{self.socket}"\n[prometheus]\nlisten = "127.0.0.1:9879"\n'
        if history:
            self.history.mkdir()
        if record:
            self.recordings.mkdir()
        self.write(config)
        self.environment = {**ENVIRONMENT, **(environment or {})}
        self.options = options

    def write(self, config):
        """The configuration: sections of `config` add to those that every test needs."""
        text = self.base
        for section in re.split(r"(?m)^(?=\[)", config):
            name = section.split("\n", 1)[0]
            if section.strip() and f"{name}\n" in text and not name.startswith("[["):
                text = text.replace(f"{name}\n", section.rstrip("\n") + "\n", 1)
            else:
                text += section
        self.file.write_text(text)

    def __enter__(self):
        self.process = subprocess.Popen(self.wire.command(BINARY, "daemon", "--config", self.file, *self.options),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        self.lines, self.ready = [], threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not self.ready.wait(PATIENCE_SECONDS):
            self.process.kill()
            raise AssertionError("not ready:\n" + "".join(self.lines))
        return self

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if line.strip() == "ready":
                self.ready.set()

    def stop(self, signal_number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        status = self.process.wait(timeout=PATIENCE_SECONDS)
        self.reader.join(timeout=PATIENCE_SECONDS)
        refused = [line for line in self.lines if "the system call" in line]
        assert not refused, f"the list of system calls lacks one that the daemon needs: {refused}"
        return status

    def __exit__(self, *_):
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            self.process.kill()
            self.process.stderr.close()
            self.process.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        return "".join(self.lines)

    def wait_for(self, what, condition, seconds=PATIENCE_SECONDS):
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come about; the log:\n{self.log()}")
            time.sleep(0.05)

    def get(self, page):
        fetched = self.wire.within("python3", "-c",
                                   "import sys, urllib.request as r\n"
                                   "sys.stdout.buffer.write(r.urlopen('http://127.0.0.1:9879' + sys.argv[1], timeout=20).read())", page)
        return fetched.stdout

    def health(self):
        """Status and text of /healthz."""
        asked = self.wire.within("python3", "-c",
                                 "import http.client\n"
                                 "asked = http.client.HTTPConnection('127.0.0.1', 9879, timeout=20)\n"
                                 "asked.request('GET', '/healthz')\n"
                                 "answer = asked.getresponse()\n"
                                 "print(answer.status, answer.read().decode())")
        status, text = asked.stdout.split(" ", 1)
        return int(status), text.strip()

    def series(self):
        """Every series of /metrics: {(name, {label: value} as a frozenset): value}."""
        found = {}
        for line in self.get("/metrics").splitlines():
            if line.startswith("#") or not line.strip():
                continue
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            pairs = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
            found[name, pairs] = float(value)
        return found

    def total(self, name, **labels):
        wanted = set(labels.items())
        return sum(value for (found, pairs), value in self.series().items() if found == name and wanted <= pairs)

    def dropped_by_kernel(self):
        """Packets that the ring had no room for. A daemon that captures has the series."""
        counts = [value for (name, pairs), value in self.series().items()
                  if name == "rdmascope_interface_dropped_packets_total" and ("by", "kernel") in pairs]
        assert counts, "no series says what the kernel dropped"
        return sum(counts)

    def ask(self, **request):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_SECONDS)
            client.connect(str(self.socket))
            client.sendall(json.dumps(request).encode() + b"\n")
            with client.makefile("rb") as answers:
                return json.loads(answers.readline())

    def captured(self, packets):
        self.wait_for(f"{packets} packets", lambda: self.total("rdmascope_captured_packets_total") >= packets)
        # One more interval, for the totals to hold what the last one had.
        self.wait_for("the totals", lambda: self.total("rdma_packets_total") > 0)
        settled = None
        while settled != (settled := self.total("rdma_wire_bytes_total")):
            time.sleep(1.2)


def told(*arguments, binary=BINARY):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sums(document):
    """What the flows of a document add up to, by the names that Prometheus has for them."""
    flows = document["flows"]
    out = {"rdma_packets_total": sum(flow["packets"] for flow in flows),
           "rdma_wire_bytes_total": sum(flow["wire_bytes"] for flow in flows),
           "rdma_payload_bytes_total": sum(flow["payload_bytes"] for flow in flows),
           "rdma_rnr_naks_total": sum(flow["rnr_naks"] for flow in flows),
           "rdma_ecn_ce_packets_total": sum(flow["ecn_ce_packets"] for flow in flows),
           "rdma_cnp_packets_total": sum(flow["cnp_packets"] for flow in flows)}
    operations = {}
    for flow in flows:
        for operation, figures in flow["messages"].items():
            operations[operation] = operations.get(operation, 0) + (figures or {}).get("count", 0)
    return out, {operation: count for operation, count in operations.items() if count}


class Counters(unittest.TestCase):
    """Prometheus counts what `flows -r` counts."""

    def check(self, capture, *options, config="", snaplen=192):
        with self.subTest(capture=capture, options=options), Wire() as wire:
            expected, operations = sums(told("flows", "-n", "--json", "-K", "-r", PCAPS / capture))
            with Daemon(wire, config=config, snaplen=snaplen) as daemon:
                sent = wire.play(capture, *options)
                self.assertGreater(sent, 0)
                daemon.captured(expected["rdma_packets_total"])
                self.assertEqual(daemon.dropped_by_kernel(), 0, "no frame may be lost here")
                for name, value in expected.items():
                    self.assertEqual(daemon.total(name), value, name)
                for operation, count in operations.items():
                    self.assertEqual(daemon.total("rdma_messages_total", op=operation), count, operation)
                live = daemon.ask(command="flows")
                self.assertTrue(live["ok"], live)
                again, _ = sums(live["result"])
                self.assertEqual(again, expected)
                self.assertEqual(daemon.stop(), 0)
            self.assertIn("packets captured", daemon.log())

    def test_at_the_capture_s_own_speed(self):
        self.check("rxe-rping.pcap", "--speed", "1")

    def test_ten_times_as_fast(self):
        self.check("rxe-send-lat-64.pcap", "--speed", "10")
        self.check("rxe-ecn-ce-write-bw.pcap.gz", "--speed", "10")

    def test_as_fast_as_it_goes(self):
        self.check("rxe-write-bw-64k.pcap", "--speed", "max")
        self.check("rxe-atomic-fetchadd-bw.pcap", "--speed", "max")
        self.check("rxe-read-lat-64.pcap", "--speed", "max")

    def test_connections_are_known_though_headers_alone_are_kept(self):
        capture = "rxe-ucmatose.pcap"
        self.check(capture, "--speed", "10")
        facts = lambda document: sorted(
            (flow["pairing"]["method"], flow["connection"]["ack_timeout_ns"], flow["connection"]["path_mtu"], flow["connection"]["end"])
            for flow in document["flows"])
        expected = told("flows", "-n", "--json", "-K", "-r", PCAPS / capture)
        self.assertIn("cm", [method for method, *_ in facts(expected)])
        with Wire() as wire, Daemon(wire) as daemon:
            wire.play(capture, "--speed", "10")
            daemon.captured(sums(expected)[0]["rdma_packets_total"])
            self.assertEqual(facts(daemon.ask(command="flows")["result"]), facts(expected))

    def test_iwarp_whose_ports_are_known(self):
        self.check("siw-rping-crc.pcap", "--speed", "max", config="[capture]\niwarp_ports = [7174, 18515, 9999]\n")

    def test_iwarp_that_is_found(self):
        # Connections are met from their first segment on, while all TCP passes.
        self.check("siw-send-lat-64-crc.pcap", "--speed", "max")


class Interfaces(unittest.TestCase):
    def test_one_is_removed_and_comes_back(self):
        with Wire() as wire, Daemon(wire) as daemon:
            sent = wire.play("rxe-rping.pcap", "--speed", "max")
            daemon.captured(sent - 50)
            before = daemon.total("rdma_packets_total")
            wire.unplug()
            daemon.wait_for("news of the loss", lambda: "tap0: is gone" in daemon.log() and daemon.total("rdmascope_interface_up") == 0)
            self.assertEqual(daemon.health(), (503, "waiting for an interface"))
            wire.plug()
            daemon.wait_for("the interface", lambda: daemon.total("rdmascope_interface_up") == 1)
            wire.play("rxe-rping.pcap", "--speed", "max")
            daemon.wait_for("the second half", lambda: daemon.total("rdma_packets_total") >= 2 * before)
            self.assertEqual(daemon.total("rdma_packets_total"), 2 * before)

    def test_ordinary_traffic_is_not_even_looked_at(self):
        with Wire() as wire, Daemon(wire, config="[capture]\niwarp_discovery = false\n") as daemon:
            with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
                file.write(ordinary_traffic(dns=300, https=700))
                file.flush()
                self.assertEqual(wire.play(file.name, "--speed", "max"), 1000)
            sent = wire.play("rxe-rping.pcap", "--speed", "max")
            rdma = told("flows", "-n", "--json", "-K", "-r", PCAPS / "rxe-rping.pcap")["capture"]["rdma_units"]
            daemon.wait_for("the RDMA packets", lambda: daemon.total("rdmascope_captured_packets_total") >= rdma)
            self.assertLessEqual(daemon.total("rdmascope_captured_packets_total"), sent)
            status = daemon.ask(command="status")
            self.assertTrue(status["ok"], status)

    def test_what_is_not_there_is_waited_for(self):
        with Wire() as wire, Daemon(wire, interfaces=["later0"]) as daemon:
            daemon.wait_for("the news", lambda: "later0" in daemon.log())
            self.assertEqual(daemon.health(), (503, "waiting for an interface"))
            self.assertEqual(daemon.total("rdmascope_interface_up", interface="later0"), 0)
            self.assertNotIn("tap0", daemon.log())

    def test_a_name_that_none_has_is_told_beside_one_that_is_captured(self):
        with Wire() as wire, Daemon(wire, interfaces=["tap0", "tapp0", "en*"]) as daemon:
            daemon.wait_for("the news", lambda: "no interface is `tapp0`, `en*` yet" in daemon.log())
            self.assertEqual(daemon.health(), (200, "capturing on tap0"))
            self.assertEqual(daemon.total("rdmascope_interface_up", interface="tap0"), 1)
            self.assertEqual(daemon.total("rdmascope_interface_up", interface="tapp0"), 0)
            self.assertEqual({each["name"]: each["open"] for each in daemon.ask(command="status")["result"]["interfaces"]},
                             {"tap0": True, "tapp0": False})
            daemon.base = daemon.base.replace("tapp0", "tapq0")
            daemon.write("")
            self.assertTrue(daemon.ask(command="reload")["ok"])
            daemon.wait_for("the news of another", lambda: "no interface is `tapq0`, `en*` yet" in daemon.log())

    def test_one_goes_down_and_up(self):
        with Wire() as wire, Daemon(wire) as daemon:
            wire.within("ip", "link", "set", "tap0", "down")
            daemon.wait_for("news", lambda: "warning tap0: is down; its frames come once it is up: ip link set tap0 up" in daemon.log())
            wire.within("ip", "link", "set", "tap0", "up")
            daemon.wait_for("news", lambda: "info tap0: is up\n" in daemon.log())
            sent = wire.play("rxe-rping.pcap", "--speed", "max")
            daemon.captured(sent - 50)

    def test_an_rdma_device_that_is_not_there_is_an_error(self):
        with Wire() as wire:
            done = subprocess.run(wire.command(BINARY, "daemon", "--config", "/dev/stdin"), capture_output=True, text=True, timeout=60,
                                  input='[capture]\nverbs_devices = ["mlx5_77"]\n[control]\nsocket = ""\n', env=ENVIRONMENT)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("mlx5_77", done.stderr)


def ordinary_traffic(dns, https):
    """A capture of what passes on any wire: answers of a name server, and segments of a web server's connections."""
    frames = []
    for i in range(dns + https):
        ethernet = bytes.fromhex("0200000000010200000000020800")
        if i < dns:
            transport = struct.pack("!HHHH", 53, 40000 + i, 8 + 120, 0) + bytes(120)
        else:
            transport = struct.pack("!HHIIBBHHH", 443, 50000 + i % 50, 1 + 1000 * i, 1, 0x50, 0x18, 501, 0, 0) + bytes([0x17, 3, 3]) + bytes(997)
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(transport), i & 0xffff, 0x4000, 64, 17 if i < dns else 6, 0,
                         bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
        frames.append(ethernet + ip + transport)
    header = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1)
    return header + b"".join(struct.pack("<IIII", 1_700_000_000, i, len(frame), len(frame)) + frame for i, frame in enumerate(frames))


class OwnAddresses(unittest.TestCase):
    def test_a_new_address_is_this_machine_s_at_once(self):
        with Wire() as wire, Daemon(wire, config='[engine]\ninterval = "1s"\n') as daemon:
            # The addresses have been looked up, and are not these yet.
            daemon.wait_for("an interval", lambda: daemon.total("rdmascope_captured_packets_total") >= 0 and daemon.ask(command="status"))
            time.sleep(2)
            wire.within("ip", "address", "add", "192.0.2.2/24", "dev", "tap0")
            sent = wire.play("rxe-rping.pcap", "--speed", "max")
            daemon.captured(sent - 60)
            seen = [dict(pairs) for (name, pairs) in daemon.series() if name == "rdma_packets_total"]
            self.assertEqual({labels["direction"] for labels in seen}, {"receive", "transmit"}, seen)
            self.assertNotIn("192.0.2.2", {labels["peer"] for labels in seen})


class Clients(unittest.TestCase):
    def test_slow_and_vanishing_ones_disturb_nobody(self):
        with Wire() as wire, Daemon(wire) as daemon:
            slow = []
            for _ in range(2):
                client = socket.socket(socket.AF_UNIX)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(str(daemon.socket))
                client.sendall(b'{"command":"subscribe","what":"flows","interval_ms":100}\n' + b'{"command":"flows"}\n' * 200)
                slow.append(client)
            vanishing = socket.socket(socket.AF_UNIX)
            vanishing.connect(str(daemon.socket))
            vanishing.sendall(b'{"command":"snapshot"}\n{"command":"fl')
            vanishing.close()
            expected, _ = sums(told("flows", "-n", "--json", "-K", "-r", PCAPS / "rxe-send-lat-64.pcap"))
            wire.play("rxe-send-lat-64.pcap", "--speed", "10")
            daemon.captured(expected["rdma_packets_total"])
            for name, value in expected.items():
                self.assertEqual(daemon.total(name), value, name)
            self.assertTrue(daemon.ask(command="status")["ok"])
            for client in slow:
                client.close()
            self.assertEqual(daemon.stop(), 0)

    def test_flows_and_why_ask_the_daemon(self):
        with Wire() as wire, Daemon(wire) as daemon:
            capture = "rxe-rxdrop1pct-write-bw.pcap.gz"
            wire.play(capture, "--speed", "1")
            daemon.captured(told("flows", "-n", "--json", "-K", "-r", PCAPS / capture)["capture"]["packets"] - 60)
            asked = told("why", "-n", "--json", "--connect", daemon.socket)
            read = told("why", "-n", "--json", "-K", "-r", PCAPS / capture)
            self.assertEqual(asked["answers"][0]["verdict"], read["answers"][0]["verdict"])
            flows = told("flows", "-n", "--json", "--connect", daemon.socket)
            self.assertGreater(len(flows["flows"]), 0)


class History(unittest.TestCase):
    CONFIG = '[engine]\ninterval = "200ms"\n[history]\ndirectory = "{}"\ninterval = "200ms"\n'

    def test_read_afterwards(self):
        with Wire() as wire:
            expected, _ = sums(told("flows", "-n", "--json", "-K", "-r", PCAPS / "rxe-send-lat-64.pcap"))
            daemon = Daemon(wire, history=True)
            daemon.write(self.CONFIG.format(daemon.history))
            with daemon:
                wire.play("rxe-send-lat-64.pcap", "--speed", "1")
                daemon.captured(expected["rdma_packets_total"])
                self.assertEqual(daemon.stop(), 0)
                past = told("flows", "-n", "--json", "--history", daemon.history)
                self.assertEqual(sums(past)[0], expected)

    def test_survives_being_killed(self):
        with Wire() as wire:
            daemon = Daemon(wire, history=True)
            daemon.write(self.CONFIG.format(daemon.history))
            with daemon:
                wire.play("rxe-rping.pcap", "--speed", "max")
                daemon.wait_for("history", lambda: daemon.total("rdmascope_history_intervals_total") >= 3)
                subprocess.run(["pkill", "-KILL", "-f", str(daemon.file)], check=True)
                daemon.process.wait(timeout=PATIENCE_SECONDS)
                daemon.reader.join(timeout=PATIENCE_SECONDS)
                before = told("flows", "-n", "--json", "--history", daemon.history)
                self.assertGreater(len(before["flows"]), 0)
                # A second daemon takes the store over, and the socket that the first left there.
                daemon.ready.clear()
                with daemon:
                    wire.play("rxe-rping.pcap", "--speed", "max")
                    daemon.captured(50)
                    self.assertEqual(daemon.stop(), 0)
                    after = told("flows", "-n", "--json", "--history", daemon.history)
                    self.assertGreater(sums(after)[0]["rdma_packets_total"], sums(before)[0]["rdma_packets_total"])

    def test_goes_on_if_its_folder_is_removed(self):
        """The daemon makes the folder again, under the filter of its system calls."""
        with Wire() as wire:
            daemon = Daemon(wire, history=True)
            daemon.write(self.CONFIG.format(daemon.history))
            with daemon:
                daemon.wait_for("an interval", lambda: list(daemon.history.glob("*.rdmahist")))
                while daemon.history.exists():  # the daemon may make a file at the same time
                    shutil.rmtree(daemon.history, ignore_errors=True)
                daemon.wait_for("a new file", lambda: list(daemon.history.glob("*.rdmahist")))
                expected, _ = sums(told("flows", "-n", "--json", "-K", "-r", PCAPS / "rxe-rping.pcap"))
                wire.play("rxe-rping.pcap", "--speed", "max")
                daemon.captured(expected["rdma_packets_total"])
                self.assertEqual(daemon.total("rdmascope_history_lost_intervals_total"), 0)
                self.assertEqual(daemon.stop(), 0)
                kept, _ = sums(told("flows", "-n", "--json", "--history", daemon.history))
                self.assertEqual(kept["rdma_packets_total"], expected["rdma_packets_total"])

    def test_a_full_disk_costs_history_and_nothing_else(self):
        with Wire() as wire:
            daemon = Daemon(wire, history=True)
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", daemon.history], capture_output=True, text=True)
            if mounted.returncode != 0:
                self.skipTest(f"no small disk can be mounted here: {mounted.stderr.strip()}")
            try:
                (daemon.history / "ballast").write_bytes(os.urandom(96 * 1024))
                daemon.write(self.CONFIG.format(daemon.history))
                with daemon:
                    for _ in range(12):
                        wire.play("rxe-cm-reject.pcap", "--speed", "max")
                        wire.play("rxe-send-lat-64.pcap", "--speed", "max")
                        if daemon.total("rdmascope_history_lost_intervals_total") > 0:
                            break
                        filler = daemon.history / "filler"
                        try:
                            with open(filler, "ab") as out:
                                out.write(os.urandom(64 * 1024))
                        except OSError:
                            pass
                        time.sleep(0.5)
                    daemon.wait_for("a lost interval", lambda: daemon.total("rdmascope_history_lost_intervals_total") > 0)
                    self.assertIn("history", daemon.log())
                    for name in ("ballast", "filler"):
                        (daemon.history / name).unlink(missing_ok=True)
                    lost = daemon.total("rdmascope_history_lost_intervals_total")
                    kept = daemon.total("rdmascope_history_intervals_total")
                    daemon.wait_for("history again", lambda: daemon.total("rdmascope_history_intervals_total") > kept + 2)
                    self.assertLessEqual(daemon.total("rdmascope_history_lost_intervals_total"), lost + 2)
                    self.assertEqual(daemon.stop(), 0)
            finally:
                subprocess.run(["umount", daemon.history], check=True)
                shutil.rmtree(daemon.folder)

    def test_what_is_lost_at_the_end_fails_the_command(self):
        with Wire() as wire:
            daemon = Daemon(wire, history=True)
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", daemon.history], capture_output=True, text=True)
            if mounted.returncode != 0:
                self.skipTest(f"no small disk can be mounted here: {mounted.stderr.strip()}")
            try:
                recordings = daemon.history / "recordings"
                daemon.write(f'[engine]\ninterval = "200ms"\n[history]\ndirectory = "{daemon.history}"\ninterval = "1h"\n'
                             f'[recorder]\ndirectory = "{recordings}"\nafter = "1h"\n')
                with daemon:
                    sent = wire.play("rxe-rping.pcap", "--speed", "max")
                    daemon.captured(sent - 60)
                    daemon.process.send_signal(signal.SIGUSR1)
                    daemon.wait_for("a recording", lambda: list(recordings.glob(".*")))
                    with open(daemon.history / "filler", "wb", buffering=0) as out, self.assertRaises(OSError):
                        while True:
                            out.write(bytes(4096))
                    self.assertEqual(daemon.stop(), 1)
                    self.assertRegex(daemon.log(), r"rdmascope daemon: the last of the history is lost: .*No space left on device")
                    self.assertIn(f"rdmascope daemon: {recordings}: the recording that was being written is lost", daemon.log())
            finally:
                subprocess.run(["umount", daemon.history], check=True)
                shutil.rmtree(daemon.folder)


STEPPING_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (clock == CLOCK_REALTIME) {
        FILE *file = fopen(getenv("CLOCK_STEP_FILE"), "r");
        long step = 0;
        if (file) { if (fscanf(file, "%ld", &step) != 1) step = 0; fclose(file); }
        now->tv_sec += step;
    }
    return status;
}
"""


class Memory(unittest.TestCase):
    FLOWS = 8192

    def write_flows(self, path):
        """Three RC Sends for each of so many queue pairs."""
        with open(path, "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
            for psn in range(3):
                for number in range(self.FLOWS):
                    rdma = struct.pack(">BBHII", 4, 0x40, 0xffff, 0x1000 + number, 0x80000000 | psn) + bytes(68)
                    udp = struct.pack(">HHHH", 50000, 4791, 8 + len(rdma), 0)
                    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(rdma), number, 0x4000, 64, 17, 0) + b"\xc0\0\2\1\xc0\0\2\2"
                    frame = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + udp + rdma
                    microseconds = 40 * (psn * self.FLOWS + number)
                    out.write(struct.pack("<IIII", microseconds // 10**6, microseconds % 10**6, len(frame), len(frame)) + frame)

    def test_many_flows_take_what_the_manual_says(self):
        with Wire() as wire:
            daemon = Daemon(wire, history=True)
            daemon.write(f'[engine]\nmax_flows = {self.FLOWS}\n[history]\ndirectory = "{daemon.history}"\ninterval = "1s"\n')
            capture = daemon.folder / "many.pcap"
            self.write_flows(capture)
            with daemon:
                status = pathlib.Path(f"/proc/{daemon.process.pid}/status")

                def own_octets():
                    return 1024 * int(re.search(r"RssAnon:\s+(\d+)", status.read_text()).group(1))

                before, most = own_octets(), 0
                for _ in range(2):
                    wire.play(capture, "--speed", "1")
                    until = time.monotonic() + 2
                    while time.monotonic() < until:
                        most = max(most, own_octets())
                        time.sleep(0.01)
                self.assertEqual(daemon.total("rdmascope_flows"), self.FLOWS)
                self.assertLess(most - before, self.FLOWS * 24 * 1024)
                self.assertGreater(daemon.total("rdmascope_memory_bytes"), (most - before) / 2)
                self.assertLess(daemon.total("rdmascope_memory_bytes"), self.FLOWS * 24 * 1024)


class Clock(unittest.TestCase):
    def test_steps_back_and_forth(self):
        with Wire() as wire, tempfile.TemporaryDirectory() as folder:
            source, library, step = (pathlib.Path(folder) / name for name in ("clock.c", "clock.so", "step"))
            source.write_text(STEPPING_CLOCK)
            subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
            step.write_text("0")
            daemon = Daemon(wire, history=True, environment={"LD_PRELOAD": str(library), "CLOCK_STEP_FILE": str(step)})
            daemon.write(History.CONFIG.format(daemon.history))
            expected, _ = sums(told("flows", "-n", "--json", "-K", "-r", PCAPS / "rxe-rping.pcap"))
            with daemon:
                for count, seconds in enumerate((0, 7200, -7200, 86400), 1):
                    step.write_text(str(seconds))
                    kept = daemon.total("rdmascope_history_intervals_total")
                    daemon.wait_for("intervals", lambda: daemon.total("rdmascope_history_intervals_total") > kept + 1)
                    wire.play("rxe-rping.pcap", "--speed", "max")
                    daemon.wait_for("the packets", lambda: daemon.total("rdma_packets_total") >= count * expected["rdma_packets_total"])
                    self.assertEqual(daemon.total("rdma_packets_total"), count * expected["rdma_packets_total"])
                self.assertEqual(daemon.stop(), 0)
                past = told("flows", "-n", "--json", "--history", daemon.history)
                self.assertEqual(sums(past)[0]["rdma_packets_total"], 4 * expected["rdma_packets_total"])


class Recorder(unittest.TestCase):
    CONFIG = '[engine]\ninterval = "200ms"\n[recorder]\ndirectory = "{}"\nbefore = "30s"\nafter = "1s"\npause = "60s"\n'

    def files(self, daemon):
        return sorted(daemon.recordings.glob("*.pcapng"))

    def test_an_incident_is_kept_with_its_frames_marked(self):
        if not shutil.which("tshark"):
            self.skipTest("tshark is not installed")
        with Wire() as wire:
            daemon = Daemon(wire, record=True)
            daemon.write(self.CONFIG.format(daemon.recordings) +
                         '[[recorder.trigger]]\nname = "loss"\nwhen = "retransmitted_packets > 0"\n')
            with daemon:
                wire.play("rxe-rxdrop1pct-write-bw.pcap.gz", "--speed", "1")
                (kept,) = daemon.wait_for("a recording", lambda: self.files(daemon))
                shown = subprocess.run(["tshark", "-r", kept, "-T", "fields", "-e", "frame.comment"], capture_output=True, text=True, check=True)
                comments = [line for line in shown.stdout.splitlines() if line]
                self.assertIn("loss", kept.name)
                self.assertGreater(len(shown.stdout.splitlines()), 100)
                self.assertGreater(len(comments), 0, "the frames that set it off are marked")
                for comment in comments:
                    self.assertIn("retransmitted_packets", comment)
                # What was marked is what another reader calls a repeat: its sequence number was sent before.
                shown = subprocess.run(["tshark", "-r", kept, "-T", "fields", "-e", "frame.comment", "-e", "infiniband.bth.destqp",
                                        "-e", "infiniband.bth.psn"], capture_output=True, text=True, check=True)
                seen = set()
                for line in shown.stdout.splitlines():
                    comment, queue_pair, number = line.split("\t")
                    if comment and number:
                        self.assertIn((queue_pair, number), seen)
                    seen.add((queue_pair, number))
                self.assertGreater(len(told("flows", "-n", "--json", "-r", kept)["flows"]), 0)

    def test_by_signal_and_by_command(self):
        with Wire() as wire:
            daemon = Daemon(wire, record=True)
            daemon.write(self.CONFIG.format(daemon.recordings))
            with daemon:
                sent = wire.play("rxe-rping.pcap", "--speed", "max")
                daemon.captured(sent - 60)
                subprocess.run(["pkill", "-USR1", "-f", f"^{BINARY} daemon --config {daemon.file}"], check=True)
                daemon.wait_for("the signal's", lambda: len(self.files(daemon)) == 1)
                # The daemon refuses while it still writes the recording before.
                daemon.wait_for("the trigger", lambda: daemon.ask(command="trigger", reason="a test asks")["ok"])
                daemon.wait_for("the command's", lambda: len(self.files(daemon)) == 2)


class Reload(unittest.TestCase):
    def test_goes_on_where_it_was(self):
        with Wire() as wire, Daemon(wire) as daemon:
            expected, _ = sums(told("flows", "-n", "--json", "-K", "-r", PCAPS / "rxe-rping.pcap"))
            sender = threading.Thread(target=wire.play, args=("rxe-rping.pcap", "--speed", "1"))
            sender.start()
            for count in range(1, 6):
                daemon.write(f"[prometheus]\nmax_peers = {10 + count}\n" if count != 3 else "[prometheus]\nmax_peerz = 1\n")
                subprocess.run(["pkill", "-HUP", "-f", f"^{BINARY} daemon --config {daemon.file}"], check=True)
                daemon.wait_for("the reload", lambda: daemon.total("rdmascope_config_reloads_total") >= count)
                good = daemon.total("rdmascope_config_last_reload_successful")
                self.assertEqual(good, 0 if count == 3 else 1)
            sender.join()
            self.assertIn("max_peerz", daemon.log())
            self.assertIn("did you mean", daemon.log())
            daemon.captured(expected["rdma_packets_total"])
            for name, value in expected.items():
                self.assertEqual(daemon.total(name), value, name)


def runs_on_the_stack(program):
    """Whether the program is there, and this rdmascope can run programs on the software stack."""
    return shutil.which(program) is not None and subprocess.run([BINARY, "run", "--software", "--", "true"], capture_output=True, env=ENVIRONMENT).returncode == 0


class Policy(unittest.TestCase):
    def test_what_breaks_a_rule_is_reported_everywhere(self):
        with Wire() as wire:
            daemon = Daemon(wire, record=True)
            rules = daemon.folder / "rules.toml"
            rules.write_text('[[rule]]\nname = "marked"\nmatch = "destination.qpn == 0x27"\ndscp = 0\n'
                             '[[rule]]\nname = "rest"\ndscp = 0\n')
            daemon.write(Recorder.CONFIG.format(daemon.recordings) + f'[policy]\nfile = "{rules}"\n'
                         '[[recorder.trigger]]\nname = "class"\nverdict = "policy_broken"\n')
            with daemon:
                # Its JSON: ib_write_bw --tos 106, DSCP 26; between queue pairs 0x27.
                wire.play("rxe-write-bw-64k-tos.pcap", "--speed", "1")
                broken = daemon.wait_for("broken packets", lambda: daemon.total("rdmascope_policy_broken_packets_total", rule="marked"))
                self.assertGreater(broken, 0)
                self.assertEqual(daemon.total("rdmascope_policy_broken_packets_total", rule="rest"), 0)
                answers = [each for each in daemon.ask(command="why")["result"]["answers"] if each["question"] == "policy"]
                self.assertEqual([each["verdict"] for each in answers], ["policy_broken"])
                self.assertIn('Rule "marked" expects DSCP CS0 (0)', answers[0]["summary"])
                for shown in (told("why", "-n", "--json", "--connect", daemon.socket), json.loads(daemon.get("/api/v1/answers"))):
                    self.assertIn("policy_broken", {each["verdict"] for each in shown["answers"]})
                checked = subprocess.run([BINARY, "policy", "check", "-n", "--connect", str(daemon.socket)], capture_output=True, text=True,
                                         env=ENVIRONMENT, timeout=300)
                self.assertEqual((checked.returncode, checked.stdout.split(":")[0]), (3, "WRONG"), checked.stderr)
                daemon.wait_for("a recording", lambda: list(daemon.recordings.glob("*class*.pcapng")))
                self.assertIn('Rule "marked" expects', daemon.log())
                rules.write_text('[[rule]]\nname = "all"\ndscp = [0, 26]\n')
                self.assertTrue(daemon.ask(command="reload")["ok"])
                answers = [each for each in daemon.ask(command="why")["result"]["answers"] if each["question"] == "policy"]
                self.assertEqual([each["verdict"] for each in answers], ["policy_kept"])


class Traces(unittest.TestCase):
    """Programs that are traced while the daemon captures their packets."""
    COUNT, SIZE, DEPTH, PORT = 2000, 8192, 16, 7471

    @unittest.skipUnless(runs_on_the_stack("ib_write_bw"), "no ib_write_bw, or no software stack in this build")
    def test_what_programs_did_joins_their_flows(self):
        # The daemon becomes another user, to whom the ring of root's program is closed except what it has kept.
        config = '[capture]\nrdma_only = true\n[traces]\nprograms = true\n[service]\nuser = "nobody"\n'
        with Wire() as wire, tempfile.TemporaryDirectory(prefix="rdmascope-rings-") as rings:
            os.chmod(rings, 0o1777)
            traced = {"RDMASCOPE_TRACE_DIR": rings}
            with Daemon(wire, config=config, environment=traced, interfaces=["lo"], snaplen=0) as daemon:
                program = ["ib_write_bw", "-R", "-F", "-p", self.PORT, "-n", self.COUNT, "-s", self.SIZE, "-t", self.DEPTH]
                environment = {**ENVIRONMENT, **traced}
                server = subprocess.Popen(wire.command(BINARY, "run", "--software", "--", *program), stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL, env=environment)
                self.addCleanup(server.kill)
                daemon.wait_for("the server", lambda: str(self.PORT) in wire.within("ss", "-Hltn").stdout)
                client = subprocess.run(wire.command(BINARY, "run", "--software", "--trace", f"{rings}/trace", "--", *program, "127.0.0.1"),
                                        capture_output=True, text=True, env=environment, timeout=PATIENCE_SECONDS)
                self.assertEqual(client.returncode, 0, client.stderr)
                server.wait(PATIENCE_SECONDS)
                pid, command = re.search(r"process (\d+): (.*)", client.stderr).groups()

                def joined():
                    flows = told("flows", "-n", "--json", "--connect", daemon.socket)["flows"]
                    return [flow for flow in flows if flow["work"] and flow["work"]["posts"] == self.COUNT]
                flow, = daemon.wait_for("the program's flow", joined)
                self.assertEqual(flow["process"]["pid"], int(pid))
                self.assertEqual(flow["process"]["command"], command)
                self.assertEqual(flow["queue_depth"]["max"], self.DEPTH)
                self.assertEqual(flow["work"]["records_lost"], 0)
                self.assertGreater(flow["work"]["messages_matched"], 0)
                self.assertGreater(flow["post_to_poll_ns"]["count"], 0)
                why = wire.within(BINARY, "why", "-n", "--connect", daemon.socket).stdout
                self.assertIn(f"ib_write_bw (pid {pid})", why)
                # `run` has read the same ring: the server was not traced.
                records = int(re.search(r"(\d+) records of 1 process, 0 lost", client.stderr)[1])
                status = daemon.wait_for("all records", lambda: (now := daemon.ask(command="status")["result"])["trace_records"] >= records and now)
                self.assertEqual(status["trace_records"], records)
                self.assertEqual(status["trace_records_lost"], 0)
                self.assertEqual(daemon.total("rdmascope_trace_records_total"), status["trace_records"])
                warnings = [line for line in daemon.log().splitlines() if " warning " in line and "RDMASCOPE_EBPF=off" not in line]
                self.assertEqual(warnings, [])

    def test_processes_that_cannot_be_seen_are_told_of(self):
        class Hiding(Wire):
            def command(self, *arguments):
                return super().command("sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh", *arguments)

        config = '[traces]\nprograms = true\n[service]\nuser = "nobody"\n'
        for wire, told_of in ((Hiding(), 1), (Wire(), 0)):
            with self.subTest(wire=type(wire).__name__), wire, tempfile.TemporaryDirectory(prefix="rdmascope-rings-") as rings:
                with Daemon(wire, config=config, environment={"RDMASCOPE_TRACE_DIR": rings}) as daemon:
                    self.assertEqual(daemon.log().count("does not show the processes of other users"), told_of)

    def test_what_is_no_ring_is_told_once(self):
        with Wire() as wire, tempfile.TemporaryDirectory(prefix="rdmascope-rings-") as rings:
            with Daemon(wire, config="[traces]\nprograms = true\n", environment={"RDMASCOPE_TRACE_DIR": rings}) as daemon:
                pathlib.Path(rings, "1-2-3.ring").write_bytes(bytes(100_000))
                daemon.wait_for("the warning", lambda: "1-2-3.ring: is no ring of a traced process" in daemon.log())
                time.sleep(0.5)
                self.assertEqual(daemon.log().count("1-2-3.ring"), 1)

    def test_what_cannot_be_traced_is_an_error_at_the_start(self):
        config = '[capture]\ninterfaces = ["lo"]\n[control]\nsocket = ""\n[prometheus]\nlisten = ""\n[traces]\n'
        with Wire() as wire:
            for traces, environment, named in (("programs = true", {"RDMASCOPE_TRACE_DIR": "/nowhere/at/all"}, "/nowhere/at/all: is no folder"),
                                               ('kernel_events = ["no_such_group"]', {}, "traces: ")):
                ended = subprocess.run(wire.command(BINARY, "daemon", "--config", "/dev/stdin"), input=config + traces + "\n", capture_output=True,
                                       text=True, env={**ENVIRONMENT, **environment}, timeout=PATIENCE_SECONDS)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(named, ended.stderr)
                self.assertNotIn("ready", ended.stderr)


class Rights(unittest.TestCase):
    def test_roots_power_is_given_up(self):
        with Wire() as wire, Daemon(wire) as daemon:
            pid = subprocess.run(["pgrep", "-f", f"^{BINARY} daemon --config {daemon.file}"], capture_output=True, text=True).stdout.split()[0]
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            effective = int(re.search(r"CapEff:\s+([0-9a-f]+)", status).group(1), 16)
            self.assertEqual(effective & ~(1 << 13), 0, "CAP_NET_RAW alone may stay")
            self.assertIn("NoNewPrivs:\t1", status)

    def test_a_port_that_is_taken_is_said_with_its_holder(self):
        """Also where the daemon's user may not look into the other process."""
        serve = ("import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 9879)); s.listen(); print('listens', flush=True); time.sleep(600)")
        with Wire() as wire:
            other = subprocess.Popen(wire.command(sys.executable, "-c", serve), stdout=subprocess.PIPE, text=True)
            try:
                self.assertEqual(other.stdout.readline(), "listens\n")
                for service in ("", '[service]\nuser = "nobody"\n'):
                    daemon = Daemon(wire, config=service)
                    ended = wire.within(BINARY, "daemon", "--config", daemon.file, check=False)
                    shutil.rmtree(daemon.folder)
                    self.assertNotEqual(ended.returncode, 0)
                    self.assertRegex(ended.stderr, rf"another program listens there: python[0-9.]* \(process {other.pid}\)")
            finally:
                other.kill()
                other.communicate()

    def test_the_daemon_s_user_may_use_the_socket_and_takes_it_away(self):
        with Wire() as wire:
            daemon = Daemon(wire, config='[service]\nuser = "nobody"\n')
            daemon.folder.chmod(0o755)
            daemon.socket.parent.rmdir()
            with daemon:
                asked = subprocess.run(["setpriv", "--reuid=nobody", "--clear-groups", BINARY, "flows", "--connect", daemon.socket, "--json"],
                                       cwd="/", capture_output=True, text=True, timeout=PATIENCE_SECONDS)
                self.assertEqual(asked.returncode, 0, asked.stderr)
                self.assertEqual(json.loads(asked.stdout)["flows"], [])
                self.assertEqual(daemon.stop(), 0)
                self.assertFalse(daemon.socket.exists())
                self.assertNotIn("cannot be removed", daemon.log())
        with Wire() as wire:
            daemon = Daemon(wire, config='[service]\nuser = "nobody"\n')
            daemon.folder.chmod(0o755)
            with daemon:
                self.assertEqual(daemon.stop(), 0)
                self.assertIn(f"{daemon.socket}: cannot be removed: Permission denied", daemon.log())


if __name__ == "__main__":
    unittest.main()
