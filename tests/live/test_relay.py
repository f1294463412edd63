"""The relay does what it says, seen by plain TCP: what the other tests stand on."""
import hashlib
import sys
import unittest

import path
import relay

OCTETS = bytes(range(251)) * 8000
SERVER = f"""
import hashlib, socket
listener = socket.socket()
listener.bind(("{path.FAR_ADDRESS}", 5000))
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
octets = b""
while piece := connection.recv(1 << 20):
    octets += piece
connection.sendall(hashlib.sha256(octets).hexdigest().encode() + b" %d" % len(octets))
"""
CLIENT = f"""
import socket
connection = socket.create_connection(("{path.FAR_ADDRESS}", 5000))
connection.sendall(bytes(range(251)) * 8000)
connection.shutdown(socket.SHUT_WR)
print(connection.makefile().read())
"""


def setUpModule():
    path.needs_namespaces()


def transfer(options, mtu=1500):
    """What arrived, as `digest octets`, and the relay's report."""
    with path.Path(mtu, options) as way:
        way.start("far", sys.executable, "-c", SERVER)
        answer = way.run("near", sys.executable, "-c", CLIENT)
        return answer.stdout.split(), way.relayed()


class Relay(unittest.TestCase):
    sent = [hashlib.sha256(OCTETS).hexdigest(), str(len(OCTETS))]

    def test_passes_everything(self):
        got, report = transfer([])
        self.assertEqual(got, self.sent)
        # 2008000 octets in segments of at most 1448.
        self.assertGreaterEqual(report["forward"]["segments"], -(-len(OCTETS) // 1448))
        for way in report.values():
            self.assertEqual((way["dropped"], way["damaged"], way["lost_in_relay"]), ([], [], 0))

    def test_loss_is_mended_by_tcp(self):
        got, report = transfer(["--drop-every", "40", "--direction", "forward"])
        self.assertEqual(got, self.sent)
        forward = report["forward"]
        self.assertEqual(len(forward["dropped"]), forward["segments"] // 40)
        self.assertGreaterEqual(len(forward["dropped"]), 34)  # 1387 segments at least
        self.assertEqual(report["back"]["dropped"], [])

    def test_damage_passes_tcp(self):
        got, report = transfer(["--damage-every", "100", "--after", "50"])
        damaged = report["forward"]["damaged"]
        self.assertGreaterEqual(len(damaged), 13)
        self.assertEqual(got[1], self.sent[1])
        self.assertNotEqual(got[0], self.sent[0])

    def test_delay_and_long_frames(self):
        got, report = transfer(["--delay", "3"], mtu=9000)
        self.assertEqual(got, self.sent)
        self.assertLess(report["forward"]["segments"], len(OCTETS) // 1448)

    def test_a_damaged_segment_has_a_checksum_that_agrees(self):
        def total(octets):
            words = sum(int.from_bytes(octets[i:i + 2], "big") for i in range(0, len(octets), 2))
            while words >> 16:
                words = (words & 0xffff) + (words >> 16)
            return words
        for size in (1, 2, 3, 4, 7, 100, 101):
            header = bytes(12) + bytes.fromhex("0800") + bytes.fromhex("4500") + (40 + size).to_bytes(2, "big") + bytes(5) + b"\x06" + bytes(10)
            tcp = bytearray(bytes(12) + b"\x50" + bytes(7) + bytes(range(1, size + 1)))
            padded = bytes(tcp) + bytes(len(tcp) % 2)
            tcp[16:18] = (~total(padded) & 0xffff).to_bytes(2, "big")
            frame = header + bytes(tcp)
            begin, end, _ = relay.payload_of(frame)
            self.assertEqual((begin, end), (54, 54 + size))
            changed = relay.damage(frame, begin, end)
            self.assertEqual(sum((a ^ b).bit_count() for a, b in zip(frame[54:], changed[54:])), 1)
            self.assertEqual(total(changed[34:] + bytes(len(changed[34:]) % 2)), 0xffff, size)


if __name__ == "__main__":
    unittest.main()
