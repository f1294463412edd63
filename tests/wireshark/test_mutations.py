"""Damaged captures with the plugin loaded: RDMASCOPE_MUTATIONS files (default 300), reproducible by number. sharkd opens them one
after another, looks at their frames forwards, again, backwards and as trees; and tshark tells of some what our own commands tell."""
import collections
import os
import pathlib
import random
import struct
import tempfile
import unittest

from plugged import (OTHER_TIMES, TestCase, captures, dump_fields, faults, flows_text, plugin_fields, said, side_by_side, tshark)
from session import Ended, Session

COUNT = int(os.environ.get("RDMASCOPE_MUTATIONS", "300"))
MAX_OCTETS = 200_000
SHARD = 25  # files that one process opens
COMPARED = 50  # one in so many is compared
MAX_TREES = 100


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


def sources():
    small = (p for p in captures() if p.name.endswith(".pcap") and 24 < p.stat().st_size < MAX_OCTETS)
    return [p for p in small if any(length for _, length in packets_of(p.read_bytes()))]


def look_at(session, path, chance):
    """Wireshark's own paths: the list of packets, Expert Information, and trees in any order."""
    session.open(path)
    numbers = list(session.rows("rdma.flow", "rdma.event", "rdma.message.latency", "rdma.response_in"))
    session.ask("tap", tap0="expert")
    for number in chance.sample(numbers, min(len(numbers), MAX_TREES)):
        session.tree(number)
    session.rows("rdma.gap.time", "rdma.crc")


class Mutations(TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-mutations-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.sources = sources()

    def file_of(self, seed):
        source = self.sources[seed % len(self.sources)]
        path = self.folder / f"{source.stem}-{seed}.pcap"
        path.write_bytes(mutated(source.read_bytes(), seed))
        path.chmod(0o644)
        return path

    def faults_of(self, first):
        """[(file, what was wrong)] of one process' files; the next one goes on after the file that has ended it."""
        found = []
        session = Session()
        try:
            for seed in range(first, min(first + SHARD, COUNT)):
                path = self.file_of(seed)
                wrong = []
                try:
                    look_at(session, path, random.Random(seed))
                except Ended as how:
                    wrong.append(str(how))
                wrong += said(session.complaints())
                if wrong:
                    found.append((path.name, wrong))
                    session.__exit__()
                    session = Session()
                path.unlink()
        finally:
            session.__exit__()
        return found

    def test_no_damage_brings_the_plugin_down(self):
        for first, found in side_by_side(self.faults_of, range(0, COUNT, SHARD)):
            for name, wrong in found():
                with self.subTest(file=name):
                    self.fail("\n".join(wrong))

    def test_what_is_said_of_damaged_captures_is_what_rdmascope_says(self):
        names = ["rdma.transport", "rdma.operation", "rdma.length", "rdma.crc", "rdma.notice"]

        def told(seed):
            path = self.file_of(seed)
            flows = flows_text(path)
            return flows, tshark("-n", "-q", "-r", path, "-z", "rdma,flows"), dump_fields(path, names), plugin_fields(path, names, "-2")

        for seed, answer in side_by_side(told, range(COMPARED - 1, COUNT, COMPARED)):
            source = self.sources[seed % len(self.sources)].name
            if source in OTHER_TIMES:
                continue
            with self.subTest(source=source, seed=seed):
                flows, result, dumped, frames = answer()
                self.assertEqual([], faults(result))
                self.assertEqual(flows, result.stdout)
                self.check_frames(dumped, frames)

    def check_frames(self, dumped, frames):
        """What streams still hold when the file ends, `dump` prints with the frame that it came in; Wireshark has shown that one
        already, and the plugin tells it with the last."""
        self.assertEqual(dumped.keys(), frames.keys())
        last = max(dumped, default=0)
        values = {number: {name: collections.Counter(told) for name, told in fields.items()} for number, fields in dumped.items()}
        for number, fields in frames.items():
            if number == last or fields == dumped[number]:
                continue
            for name, told in fields.items():
                self.assertFalse(collections.Counter(told) - values[number].get(name, collections.Counter()), f"frame {number}")
            for name, told in values[number].items():
                values[last].setdefault(name, collections.Counter()).update(told - collections.Counter(fields.get(name, ())))
        found = {name: collections.Counter(told) for name, told in frames.get(last, {}).items()}
        self.assertEqual({name: told for name, told in values.get(last, {}).items() if told}, found)


if __name__ == "__main__":
    unittest.main()
