"""`rdmascope-extcap` as Wireshark calls it: its sentences against the documented grammar, its captures against what was sent, read by
tshark, which takes no part in writing them."""
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))
from path import needs_namespaces  # noqa: E402
from test_daemon import Daemon, Wire  # noqa: E402

EXTCAP = os.environ["RDMASCOPE_EXTCAP"]
PCAPS = pathlib.Path(os.environ["RDMASCOPE_PCAPS"])
PATIENCE_SECONDS = 60
LIVE, DAEMON, RECORDER = "rdmascope-tap0", "rdmascope:daemon", "rdmascope:recorder"


# Nothing in them but RoCE on Ethernet, which the kernel's RDMA filter passes whole; the first has long frames, too.
CAPTURES = ["rds-rxe.pcap", "rxe-delay20ms-write-lat.pcap", "rxe-cm-reject.pcap"]


def call(*arguments):
    return subprocess.run([EXTCAP, *arguments], capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def sentences(text):
    """(word, {name: value}) of each line: a word, then {name=value}... and nothing else, as the developer's guide has it."""
    all_ = []
    for line in text.splitlines():
        match = re.fullmatch(r"(extcap|interface|dlt|arg|value) ((?:\{[a-z]+=[^{}]*\})+)", line)
        if not match:
            raise AssertionError(f"no sentence of the extcap interface: {line!r}")
        all_.append((match.group(1), dict(re.findall(r"\{([a-z]+)=([^{}]*)\}", match.group(2)))))
    return all_


def octets_of(file):
    """Each frame's octets in hexadecimal, by tshark's own reading of the file."""
    pcap = subprocess.run(["tshark", "-n", "-r", file, "-F", "pcap", "-w", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=PATIENCE_SECONDS, check=True).stdout
    frames, at = [], 24
    while at < len(pcap):
        captured = int.from_bytes(pcap[at + 8:at + 12], sys.byteorder)
        frames.append(pcap[at + 16:at + 16 + captured].hex())
        at += 16 + captured
    return frames


class Contract(unittest.TestCase):
    """What is said before a capture; no rights are needed."""

    def test_version_and_interfaces(self):
        said = call("--extcap-interfaces", "--extcap-version=4.0")
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        first, *rest = sentences(said.stdout)
        self.assertEqual(first[0], "extcap")
        self.assertRegex(first[1]["version"], r"^\d+\.\d+\.\d+$")
        self.assertTrue(first[1]["help"].startswith("file://"))
        self.assertTrue(all(word == "interface" and set(values) == {"value", "display"} for word, values in rest))
        listed = {values["value"]: values["display"] for _, values in rest}
        self.assertEqual(len(listed), len(rest), "values are unique")
        names = {f"rdmascope-{name}" for name in os.listdir("/sys/class/net") if (pathlib.Path("/sys/class/net") / name).is_dir()}
        self.assertEqual(set(listed), names | {"rdmascope-any", DAEMON, RECORDER})
        self.assertEqual(listed["rdmascope-lo"], "rdmascope: lo")
        self.assertEqual((listed[DAEMON], listed[RECORDER]), ("rdmascope: daemon", "rdmascope: flight recorder"))
        self.assertEqual(call("--extcap-version").stdout, said.stdout.splitlines(keepends=True)[0])

    def test_link_types(self):
        for interface in ("rdmascope-lo", "rdmascope-any", DAEMON, RECORDER):
            said = call("--extcap-interface", interface, "--extcap-dlts")
            self.assertEqual(said.returncode, 0, said.stderr)
            ((word, values),) = sentences(said.stdout)
            self.assertEqual((word, values["number"], values["name"]), ("dlt", "1", "EN10MB"))

    def test_options(self):
        types = {"integer", "unsigned", "long", "double", "string", "password", "boolean", "boolflag", "fileselect", "selector",
                 "editselector", "radio", "multicheck", "timestamp"}
        for interface, calls in (("rdmascope-lo", ["--headers-only", "--snaplen", "--promiscuous", "--timestamps", "--iwarp-ports"]),
                                 (DAEMON, ["--socket"]), (RECORDER, ["--socket"])):
            said = sentences(call("--extcap-interface", interface, "--extcap-config").stdout)
            arguments = [values for word, values in said if word == "arg"]
            self.assertEqual([values["call"] for values in arguments], calls)
            self.assertEqual([values["number"] for values in arguments], [str(i) for i in range(len(calls))])
            for values in arguments:
                self.assertIn(values["type"], types)
                self.assertTrue(values["display"] and values["tooltip"])
                choices = [v for word, v in said if word == "value" and v["arg"] == values["number"]]
                self.assertEqual(bool(choices), values["type"] == "selector")
                self.assertLessEqual(sum(choice["default"] == "true" for choice in choices), 1)
        reloaded = sentences(call("--extcap-interface", "rdmascope-lo", "--extcap-config", "--extcap-reload-option", "timestamps").stdout)
        self.assertEqual([values["value"] for _, values in reloaded], ["automatic", "hardware", "software"])

    def test_a_filter_is_judged(self):
        for interface in ("rdmascope-lo", DAEMON, RECORDER):
            good = call("--extcap-interface", interface, "--extcap-capture-filter", "udp port 4791 and host 192.0.2.1")
            self.assertEqual((good.returncode, good.stdout, good.stderr), (0, "", ""), "silence is assent")
            bad = call("--extcap-interface", interface, "--extcap-capture-filter", "udp prot 4791")
            self.assertNotEqual(bad.returncode, 0)
            self.assertIn("syntax error", bad.stdout, "what is printed is what Wireshark shows")

    def test_wrong_words_have_a_status_and_a_sentence(self):
        fifo = ["--capture", "--fifo", "/nonexistent/fifo"]
        for arguments, text in (
                (["--extcap-interfacse"], "did you mean"),
                (["--capture", "--fifo", "x"], "--extcap-interface is needed"),
                (["--extcap-dlts"], "--extcap-interface is needed"),
                (["--extcap-interface", "eth0", "--extcap-dlts"], "an interface of --extcap-interfaces is expected"),
                (["--extcap-interface", "rdmascope-", "--extcap-dlts"], "an interface of --extcap-interfaces is expected"),
                (["--extcap-interface", LIVE, "--capture"], "--fifo is needed"),
                (["--extcap-interface"], "--extcap-interface needs a value"),
                (["--capture=yes"], "--capture takes no value"),
                (["--extcap-interface", LIVE, *fifo, "--snaplen", "-1"], "from 0 (whole frames) to 262144"),
                (["--extcap-interface", LIVE, *fifo, "--snaplen", "12x"], "from 0 (whole frames) to 262144"),
                (["--extcap-interface", LIVE, *fifo, "--iwarp-ports", "4420,,1"], "TCP ports from 1 to 65535"),
                (["--extcap-interface", LIVE, *fifo, "--iwarp-ports", "70000"], "TCP ports from 1 to 65535"),
                (["--extcap-interface", LIVE, *fifo, "--promiscuous", "maybe"], "true or false is expected"),
                (["--extcap-interface", LIVE, *fifo, "--timestamps", "sundial"], "automatic, hardware or software")):
            with self.subTest(arguments=arguments):
                said = call(*arguments)
                self.assertEqual((said.returncode, said.stdout), (2, ""))
                self.assertIn(text, said.stderr)
                self.assertEqual(said.stderr.count("\n"), 1, said.stderr)

    def test_what_cannot_be_captured_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            to = ["--capture", "--fifo", f"{folder}/out.pcapng"]
            for interface in (DAEMON, RECORDER):
                said = call("--extcap-interface", interface, *to, "--socket", f"{folder}/none.sock")
                self.assertEqual((said.returncode, said.stdout), (1, ""))
                self.assertIn("start one with `rdmascope daemon", said.stderr)
                said = call("--extcap-interface", interface, *to, "--extcap-capture-filter", "nonsense !", "--socket", f"{folder}/none.sock")
                self.assertEqual(said.returncode, 1)
                self.assertIn("syntax error", said.stderr)

    def test_who_waits_at_the_fifo_of_no_capture_is_let_go(self):
        """dumpcap opens the fifo without waiting for a writer, and polls: only a writer that has come and gone ends that."""
        with tempfile.TemporaryDirectory() as folder:
            for case, options in enumerate((["--extcap-interface", DAEMON, "--socket", f"{folder}/none.sock"],
                                            ["--extcap-interface", DAEMON, "--extcap-capture-filter", "nonsense !"],
                                            ["--extcap-interface", LIVE, "--snaplen", "-1"])):
                with self.subTest(options=options):
                    fifo = f"{folder}/fifo{case}"
                    os.mkfifo(fifo)
                    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
                    try:
                        self.assertNotEqual(call("--capture", "--fifo", fifo, *options).returncode, 0)
                        poll = select.poll()
                        poll.register(reader, select.POLLIN)
                        self.assertTrue(poll.poll(0), "the end of the file is to be read")
                        self.assertEqual(os.read(reader, 1), b"")
                    finally:
                        os.close(reader)

    def test_nobody_at_the_fifo_is_not_waited_for_long(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/fifo")
            said = call("--capture", "--extcap-interface", DAEMON, "--fifo", f"{folder}/fifo", "--socket", f"{folder}/none")
            self.assertEqual(said.returncode, 1)
            self.assertIn("no daemon answers", said.stderr)

    def test_what_cannot_be_said_is_told(self):
        with open("/dev/full", "w") as full:
            said = subprocess.run([EXTCAP, "--extcap-interfaces"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((said.returncode, said.stderr), (1, "rdmascope-extcap: standard output: No space left on device\n"))

    def test_help_has_every_option(self):
        said = call("--help")
        self.assertEqual(said.returncode, 0)
        for interface in ("rdmascope-lo", DAEMON):
            for word, values in sentences(call("--extcap-interface", interface, "--extcap-config").stdout):
                if word == "arg":
                    self.assertIn(values["call"], said.stdout)
                    manual = (pathlib.Path(__file__).resolve().parents[2] / "docs/man/rdmascope-extcap.1").read_text().replace("\\-", "-")
                    self.assertIn(values["call"], manual)


class Capture:
    """The program and the fifo that it writes to; what came out of it, as a file."""

    def __init__(self, wire, folder, interface, *options, keep_reading=True):
        self.fifo, self.file = pathlib.Path(folder) / f"fifo{time.monotonic_ns()}", pathlib.Path(folder) / f"{time.monotonic_ns()}.pcapng"
        os.mkfifo(self.fifo)
        command = [EXTCAP, "--capture", "--extcap-interface", interface, "--fifo", str(self.fifo), *map(str, options)]
        self.process = subprocess.Popen(wire.command(*command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.size, self.pipe = 0, None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with open(self.fifo, "rb", buffering=0) as self.pipe, open(self.file, "wb", buffering=0) as file:
            while part := self.pipe.read(65536):
                self.size += file.write(part)

    def ready(self):
        """The section and an interface have come: it captures."""
        wait_for("the first octets", lambda: self.size > 100 or self.process.poll() is not None)
        return self

    def frames(self):
        return octets_of(self.file) if self.size else []

    def came(self, count):
        wait_for(f"{count} frames", lambda: self._count() >= count)
        return self

    def _count(self):
        octets, at, frames = self.file.read_bytes(), 0, 0
        while at + 12 <= len(octets):
            kind, length = int.from_bytes(octets[at:at + 4], "little"), int.from_bytes(octets[at + 4:at + 8], "little")
            if length < 12 or at + length > len(octets):
                break
            frames, at = frames + (kind == 6), at + length
        return frames

    def stop(self, how=signal.SIGTERM):
        if how is not None and self.process.poll() is None:
            self.process.send_signal(how)
        out, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        self.reader.join(timeout=PATIENCE_SECONDS)
        return self.process.returncode, out + errors


def wait_for(what, condition, seconds=PATIENCE_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come")
        time.sleep(0.02)


class OnAWire(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("tshark"):
            raise unittest.SkipTest("tshark is not installed: there is nobody to read for")
        needs_namespaces()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-extcap-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.wire = Wire()
        self.wire.__enter__()
        self.addCleanup(self.wire.__exit__)


class Captures(OnAWire):
    def test_live_frames_are_those_sent(self):
        for name in CAPTURES:
            with self.subTest(name):
                sent = octets_of(PCAPS / name)
                capture = Capture(self.wire, self.folder, LIVE).ready()
                self.assertEqual(self.wire.play(name, "--speed", "max"), len(sent))
                capture.came(len(sent))
                self.assertEqual(capture.stop(), (0, ""))
                self.assertEqual(capture.frames(), sent)

    def test_iwarp_on_a_port_that_was_told(self):
        """The capture begins after the MPA start frames: nothing but the port gives it away, after the first seconds."""
        name = "nfs-rdma-siw.pcap"
        iwarp = subprocess.run(["tshark", "-r", PCAPS / name, "-T", "fields", "-e", "tcp.port"], capture_output=True, text=True, check=True)
        ports = set(iwarp.stdout.replace("\n", ",").split(",")) - {""}
        sent = octets_of(PCAPS / name)
        capture = Capture(self.wire, self.folder, LIVE, "--iwarp-ports", ",".join(sorted(ports))).ready()
        time.sleep(2.5)  # TapOptions::discovery_ns
        self.wire.play(name, "--speed", "max")
        capture.came(len(sent))
        self.assertEqual(capture.stop(), (0, ""))
        self.assertEqual(capture.frames(), sent)

    def test_headers_only_and_a_snap_length(self):
        name = CAPTURES[0]
        sent = octets_of(PCAPS / name)
        self.assertTrue(any(len(frame) > 2 * 192 for frame in sent), "else there is nothing to cut")
        for options, octets in ((["--headers-only"], 192), (["--snaplen", "100"], 100),
                                (["--headers-only=true", "--snaplen", "100"], 100)):
            capture = Capture(self.wire, self.folder, LIVE, *options).ready()
            self.wire.play(name, "--speed", "max")
            capture.came(len(sent))
            self.assertEqual(capture.stop(), (0, ""))
            # Packets to queue pair 1 say who connects to whom: headers alone would not.
            managed = [octets == 192 and frame[72:76] == "12b7" and frame[94:100] == "000001" for frame in sent]
            self.assertEqual(capture.frames(), [frame[:2 * (512 if whole else octets)] for frame, whole in zip(sent, managed)])

    def test_what_is_not_rdma_stays_out_unless_a_filter_asks(self):
        ping = bytes.fromhex("ffffffffffff02000000000108060001080006040001" + "00" * 20) + bytes(18)
        send = ("import socket\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\ns.bind(('send0', 0))\n"
                f"s.send(bytes.fromhex('{ping.hex()}'))\n")
        name, expected = CAPTURES[0], len(octets_of(PCAPS / CAPTURES[0]))
        for options, arps in (([], 0), (["--extcap-capture-filter", "arp or udp port 4791"], 1)):
            capture = Capture(self.wire, self.folder, LIVE, *options).ready()
            self.wire.within("python3", "-c", send)
            self.wire.play(name, "--speed", "max")
            capture.came(expected + arps)
            self.assertEqual(capture.stop(), (0, ""))
            self.assertEqual(len([frame for frame in capture.frames() if frame[24:28] == "0806"]), arps)

    def test_it_ends_when_the_fifo_is_closed(self):
        with Daemon(self.wire, record=True, config=f'[recorder]\ndirectory = "{self.folder}"\n') as daemon:
            for interface, options in ((LIVE, []), (DAEMON, ["--socket", daemon.socket])):
                with self.subTest(interface):
                    fifo = pathlib.Path(self.folder) / "closed"
                    os.mkfifo(fifo)
                    process = subprocess.Popen(self.wire.command(EXTCAP, "--capture", "--extcap-interface", interface, "--fifo", fifo,
                                                                 *options), stderr=subprocess.PIPE, text=True)
                    reading = os.open(fifo, os.O_RDONLY)
                    self.assertTrue(os.read(reading, 100), "it captures")
                    begun = time.monotonic()
                    os.close(reading)
                    self.assertEqual((process.wait(timeout=PATIENCE_SECONDS), process.stderr.read()), (0, ""))
                    self.assertLess(time.monotonic() - begun, 1.0)
                    process.stderr.close()
                    fifo.unlink()

    def test_an_interface_that_is_not_there_is_told(self):
        capture = Capture(self.wire, self.folder, "rdmascope-none0")
        status, said = capture.process.wait(timeout=PATIENCE_SECONDS), capture.process.stderr.read()
        self.assertEqual(status, 1)
        self.assertIn("there is no interface none0", said)
        capture.process.stderr.close()
        capture.process.stdout.close()
        capture.reader.join(timeout=PATIENCE_SECONDS)

    def test_a_daemons_frames_are_those_sent(self):
        for record in (False, True):
            config = f'[recorder]\ndirectory = "{self.folder}"\n' if record else ""
            with self.subTest(record=record), Daemon(self.wire, config=config, snaplen=0) as daemon:
                for name in CAPTURES:
                    sent = octets_of(PCAPS / name)
                    first = Capture(self.wire, self.folder, DAEMON, "--socket", daemon.socket).ready()
                    second = Capture(self.wire, self.folder, DAEMON, "--socket", daemon.socket, "--extcap-capture-filter", "udp").ready()
                    self.wire.play(name, "--speed", "max")
                    first.came(len(sent))
                    self.assertEqual(first.stop(), (0, ""))
                    self.assertEqual(first.frames(), sent)
                    udp = [frame for frame in sent if frame[24:28] == "0800" and frame[46:48] == "11"]
                    second.came(len(udp))
                    self.assertEqual(second.stop(), (0, ""))
                    self.assertEqual(second.frames(), udp)

    def test_the_flight_recorders_frames_are_those_sent(self):
        name = CAPTURES[0]
        sent = octets_of(PCAPS / name)
        with Daemon(self.wire, config=f'[recorder]\ndirectory = "{self.folder}"\nbefore = "10min"\n', snaplen=0) as daemon:
            self.wire.play(name, "--speed", "max")
            daemon.wait_for("the frames", lambda: int(re.search(r'"recorder_frames":(\d+)', self.ask(daemon, "status")).group(1)) == len(sent))
            for _ in range(2):
                capture = Capture(self.wire, self.folder, RECORDER, "--socket", daemon.socket)
                self.assertEqual(capture.stop(None), (0, ""), "it ends by itself")
                self.assertEqual(capture.frames(), sent)

    def test_without_a_recorder_it_says_so(self):
        with Daemon(self.wire) as daemon:
            said = call("--extcap-interface", RECORDER, "--capture", "--fifo", f"{self.folder}/x", "--socket", str(daemon.socket))
            self.assertEqual(said.returncode, 1)
            self.assertIn("the flight recorder is off", said.stderr)

    def test_a_daemon_that_ends_is_told_and_what_came_is_whole(self):
        name = CAPTURES[0]
        sent = octets_of(PCAPS / name)
        with Daemon(self.wire, snaplen=0) as daemon:
            capture = Capture(self.wire, self.folder, DAEMON, "--socket", daemon.socket).ready()
            self.wire.play(name, "--speed", "max")
            capture.came(len(sent))
            daemon.stop()
            status, said = capture.stop(None)
        self.assertEqual(status, 1)
        self.assertIn("has ended", said)
        self.assertEqual(capture.frames(), sent)

    def test_at_most_four_are_sent_frames(self):
        with Daemon(self.wire) as daemon:
            running = [Capture(self.wire, self.folder, DAEMON, "--socket", daemon.socket).ready() for _ in range(4)]
            said = call("--extcap-interface", DAEMON, "--capture", "--fifo", f"{self.folder}/x", "--socket", str(daemon.socket))
            self.assertEqual(said.returncode, 1)
            self.assertIn("4 clients are sent frames already", said.stderr)
            for capture in running:
                self.assertEqual(capture.stop(), (0, ""))
            again = Capture(self.wire, self.folder, DAEMON, "--socket", daemon.socket).ready()
            self.assertEqual(again.stop(), (0, ""))

    def ask(self, daemon, command):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(daemon.socket))
            one.sendall(json.dumps({"command": command}).encode() + b"\n")
            text = b""
            while not text.endswith(b"\n"):
                text += one.recv(65536)
        return text.decode()


class Tshark(OnAWire):
    """Through tshark's own machinery, from a private folder of extcap programs. tshark heeds such a folder for ordinary users alone: it
    runs as nobody, and what it starts has the right to capture, as the program has where an administrator gave it to its file."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        folder = pathlib.Path(self.folder) / "extcap"
        folder.mkdir()
        shutil.copy2(EXTCAP, folder / "rdmascope-extcap")
        for path, mode in ((folder, 0o755), (folder / "rdmascope-extcap", 0o755)):
            path.chmod(mode)
        rights = "+net_raw,+net_admin"
        self.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={rights}", f"--ambient-caps={rights}",
                       "env", f"WIRESHARK_EXTCAP_DIR={folder}", f"HOME={self.folder}", "XDG_CONFIG_HOME="]
        if self.wire.within(*self.prefix, "true", check=False).returncode != 0:
            self.skipTest("rights cannot be handed on here")

    def tshark(self, *arguments):
        process = subprocess.Popen(self.wire.command(*self.prefix, "tshark", *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        """With dumpcap and the extcap, which would outlive it where something went wrong."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.stdout.close()
        process.stderr.close()
        process.wait(timeout=PATIENCE_SECONDS)

    def test_tshark_lists_the_interfaces(self):
        listed, errors = self.tshark("-D").communicate(timeout=PATIENCE_SECONDS)
        for name, display in ((LIVE, "rdmascope: tap0"), (DAEMON, "rdmascope: daemon"), (RECORDER, "rdmascope: flight recorder")):
            self.assertRegex(listed, rf"(?m)^\d+\. {re.escape(name)} \({re.escape(display)}\)$", errors)

    def test_tshark_captures(self):
        name = CAPTURES[0]
        sent = octets_of(PCAPS / name)
        file = pathlib.Path(self.folder) / "tshark.pcapng"
        process = self.tshark("-i", LIVE, "-w", str(file), "-c", str(len(sent)))
        wait_for("an interface of the capture", lambda: file.exists() and file.stat().st_size > 100)
        self.wire.play(name, "--speed", "max")
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(octets_of(file), sent)
        wait_for("the extcap's end", lambda: self.wire.within("cat", "/proc/net/packet").stdout.count("\n") == 1)

    def test_tshark_ends_and_says_why_where_there_is_nothing_to_capture(self):
        for arguments, why in ((["-i", DAEMON, "-o", f"extcap.rdmascope_daemon.socket:{self.folder}/none"], "no daemon answers at"),
                               (["-i", LIVE, "-f", "udp prot 4791"], "syntax error"),
                               (["-i", LIVE, "-o", "extcap.rdmascope_tap0.snaplen:999999999"], "is expected")):
            with self.subTest(arguments=arguments):
                process = self.tshark(*arguments)
                _, errors = process.communicate(timeout=PATIENCE_SECONDS)
                self.assertNotEqual(process.returncode, 0)
                self.assertIn(why, errors)


if __name__ == "__main__":
    unittest.main()
