"""What passes between unmodified programs, captured on the loopback interface: tshark and our own dissector find nothing wrong in it,
and `flows` counts what the programs were told to do."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import software
from software import ADDRESS, BINARY, ENVIRONMENT, TestCase, free_port, needs

sys.path.insert(0, str(software.ROOT / "tests/oracle"))
from tools import TSHARK_OPTIONS  # noqa: E402


def rdmascope(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=True).stdout


class Capture:
    """tcpdump on the loopback interface; what it missed would make the comparison worthless."""

    def __init__(self, test, port):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-software-")
        test.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "loopback.pcap")
        # As root: tcpdump would otherwise give its rights away, and the folder is ours.
        self.process = subprocess.Popen(["tcpdump", "-i", "lo", "-U", "-Z", "root", "-B", "65536", "-s", "0", "-w", self.file, "tcp", "port",
                                         str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, env=ENVIRONMENT)
        test.addCleanup(self.kill)
        end = time.monotonic() + 20
        while not self.file.exists() or self.file.stat().st_size < 24:
            if self.process.poll() is not None or time.monotonic() > end:
                test.skipTest(f"capturing is not permitted here: {self.process.stderr.read()}")
            time.sleep(0.02)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def finish(self, test):
        time.sleep(1)  # the last packets are on their way to it
        self.process.send_signal(signal.SIGINT)
        said = self.process.stderr.read()
        self.process.wait()
        dropped = re.search(r"(\d+) packets dropped by kernel", said)
        if dropped and int(dropped[1]):
            test.skipTest(f"the capture is not whole: {said}")
        return self.file


@needs("tcpdump", "tshark", "ib_write_bw", "ib_read_bw", "ib_send_bw")
class Captured(TestCase):
    def traffic(self, program, size, count, *options):
        port = free_port()
        capture = Capture(self, port)
        shared = [program, "-R", "-F", "-p", port, "-s", size, "-n", count]
        server = self.start(*shared, options=options).wait_for_port(port)
        self.both(server, self.start(*shared, ADDRESS, options=options))
        return port, capture.finish(self)

    def tshark_is_content(self, file, crc):
        """Nothing is malformed and no CRC bad; where there is a CRC, tshark found FPDUs to check."""
        words = subprocess.run(["tshark", "-r", file, *TSHARK_OPTIONS, "-O", "iwarp_mpa,iwarp_ddp_rdmap"], text=True,
                               env=ENVIRONMENT, capture_output=True, timeout=300, check=True).stdout
        self.assertEqual(re.findall(r".*(?:Malformed|Exception occurred|Dissector bug|Bad CRC).*", words), [])
        good = len(re.findall(r"\(Good CRC32\)", words))
        if crc:
            self.assertGreater(good, 0)
        else:
            self.assertEqual(good, 0)

    def counted(self, file, port, crc):
        """Messages of each operation from the client and their octets, on all connections, and how many those are."""
        figures = json.loads(rdmascope("flows", "-n", "-r", file, "--json"))
        for what in ("truncated", "malformed", "stream_octets_lost", "stream_octets_skipped"):
            self.assertEqual(figures["capture"][what], 0, what)
        there = [flow for flow in figures["flows"] if flow["destination"]["port"] == port]
        self.assertTrue(there)
        for flow in figures["flows"]:
            self.assertEqual((flow["crc_bad"], flow["terminates"]), (0 if crc else None, 0))
        return len(there), {operation: [sum(flow["messages"][operation][what] for flow in there) for what in ("count", "bytes")]
                            for operation in ("write", "read", "send")}

    def check(self, program, operation, size, count, *options, crc=True):
        port, file = self.traffic(program, size, count, *options)
        self.tshark_is_content(file, crc)
        connections, found = self.counted(file, port, crc)
        # perftest tells both ends' addresses and keys to each other by Sends of its own, on a connection that it makes for that.
        if operation == "send":
            self.assertGreaterEqual(found["send"][0], count)
            self.assertGreaterEqual(found["send"][1], count * size)
            self.assertLess(found["send"][1], count * size + 65536)
        else:
            # The initiator of a connection begins it with a Write of no octets (RFC 6581, ready to receive).
            begun = connections if operation == "write" else 0
            self.assertEqual(found[operation], [count + begun, count * size], found)

    def test_writes(self):
        self.check("ib_write_bw", "write", 65536, 200)

    def test_reads(self):
        self.check("ib_read_bw", "read", 10000, 200)

    def test_sends(self):
        self.check("ib_send_bw", "send", 4096, 300)

    def test_without_crc(self):
        self.check("ib_write_bw", "write", 3000, 200, "--crc", "off", crc=False)


if __name__ == "__main__":
    software.main()
