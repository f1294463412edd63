"""The captures of the variants: the same on every run, their checksums and ICRCs as another program finds them."""
import shutil
import struct
import subprocess
import sys
import pathlib
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import roce
import iwarp
import steps
import variants
from blocks import icrc_of, internet_checksum, masked_transport


class Making(unittest.TestCase):
    def test_a_description_gives_the_same_file_each_time(self):
        for name, description in variants.descriptions().items():
            # The long ones take seconds, and are made of the same parts.
            if description.get("count", 0) > 1000 or description["traffic"] == "file":
                continue
            with self.subTest(variant=name):
                self.assertEqual(variants.content(description), variants.content(description))

    def test_the_icrc_of_a_packet_that_a_router_passed_on_stays_right(self):
        for frame in roce.messages(count=2):
            packet = steps.routed(frame.data)[14:]
            masked = b"\xff" * 8 + packet[:1] + b"\xff" + packet[2:8] + b"\xff" + packet[9:10] + b"\xff\xff" + packet[12:26]
            masked += b"\xff\xff" + masked_transport(packet[28:-4])
            self.assertEqual(icrc_of(masked), packet[-4:])

    def test_rewriting_puts_every_checksum_right_and_leaves_the_icrc(self):
        for ipv6 in (False, True):
            for frame in roce.messages(count=2, ipv6=ipv6):
                data = steps.rewritten_data(frame.data)
                self.assertEqual(data[-4:], frame.data[-4:])
                self.assertNotEqual(data, frame.data)
                self.check_checksums(data)
        for frame in iwarp.iwarp_messages(count=2):
            self.check_checksums(steps.rewritten_data(frame.data))

    def check_checksums(self, data):
        at, version = steps.ip_at(data)
        if version == 4:
            self.assertEqual(internet_checksum(data[at:at + 20]), 0)
        protocol, head = (data[at + 6], at + 40) if version == 6 else (data[at + 9], at + 20)
        addresses = data[at + 8:at + 40] if version == 6 else data[at + 12:at + 20]
        segment = data[head:]
        if protocol == 17 and segment[6:8] == bytes(2):
            return
        self.assertEqual(internet_checksum(addresses + struct.pack("!II", len(segment), protocol) + segment), 0)

    def test_a_sample_keeps_one_in_n(self):
        frames = roce.messages(count=800)
        self.assertEqual(len(steps.sampled(frames, 50, "every")), len(frames) // 50)
        self.assertAlmostEqual(len(steps.sampled(frames, 50)), len(frames) / 50, delta=30)

    @unittest.skipUnless(shutil.which("tshark"), "tshark is not installed")
    def test_tshark_finds_the_messages_that_were_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "capture.pcap"
            path.write_bytes(variants.pcap(roce.messages(["write", "read", "fetch_add"], count=9), 1))
            opcodes = self.tshark(path, "infiniband.bth.opcode")
            self.assertEqual([opcodes.count(str(code)) for code in (6, 8, 12, 13, 15, 20, 18)], [3] * 7)
            path.write_bytes(variants.pcap(iwarp.iwarp_messages(count=5), 1))
            status = self.tshark(path, "tcp.checksum.status", "-o", "tcp.check_checksum:TRUE")
            self.assertEqual(set(status), {"1"})

    @staticmethod
    def tshark(path, field, *options):
        result = subprocess.run(["tshark", "-r", path, *options, "-T", "fields", "-e", field], capture_output=True, text=True, check=True)
        return [line for line in result.stdout.splitlines() if line]


if __name__ == "__main__":
    unittest.main()
