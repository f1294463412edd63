"""Damaged captures with the plugin loaded: RDMASCOPE_MUTATIONS files (default 30), reproducible by number."""
import os
import pathlib
import random
import struct
import tempfile
import unittest

from plugged import TestCase, captures, faults, tshark

COUNT = int(os.environ.get("RDMASCOPE_MUTATIONS", "30"))
MAX_OCTETS = 200_000


def packets_of(octets):
    order = "<" if octets[0] in (0xd4, 0x4d) else ">"
    at = 24
    while at + 16 <= len(octets):
        length = struct.unpack_from(order + "I", octets, at + 8)[0]
        yield at + 16, length
        at += 16 + length


def mutated(octets, seed):
    """Flips, overwrites and cuts octets within packets; the file's own structure stays."""
    chance = random.Random(seed)
    out = bytearray(octets)
    places = [place for place in packets_of(octets) if place[1] > 0]
    for _ in range(chance.randint(1, 60)):
        start, length = chance.choice(places)
        at = start + chance.randrange(length)
        kind = chance.randrange(3)
        if kind == 0:
            out[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            out[at] = chance.choice((0, 1, 0x7f, 0x80, 0xff))
        else:
            for i in range(at, min(at + chance.randrange(1, 9), start + length)):
                out[i] = chance.randrange(256)
    return bytes(out)


class Mutations(TestCase):
    def test_no_damage_brings_the_plugin_down(self):
        sources = [p for p in captures() if p.name.endswith(".pcap") and 24 < p.stat().st_size < MAX_OCTETS]
        sources = [p for p in sources if any(length for _, length in packets_of(p.read_bytes()))]
        with tempfile.TemporaryDirectory(prefix="rdmascope-mutations-") as folder:
            os.chmod(folder, 0o755)
            path = pathlib.Path(folder) / "mutated.pcap"
            for seed in range(COUNT):
                source = sources[seed % len(sources)]
                path.write_bytes(mutated(source.read_bytes(), seed))
                path.chmod(0o644)
                with self.subTest(source=source.name, seed=seed):
                    result = tshark("-n", "-r", path, "-V", *(["-2"] if seed % 2 else []))
                    self.assertEqual([], faults(result))
                    self.assertNotRegex(result.stdout, r"Malformed Packet: RDMA\b|Dissector bug, protocol RDMA\b")


if __name__ == "__main__":
    unittest.main()
