"""Facts depend on frames, not on how often and in which order Wireshark looks at them."""
import csv
import os
import pathlib
import struct
import tempfile
import unittest

from plugged import BACKWARD, FORWARD, ROOT, TestCase, capture, plugin_fields, side_by_side


class Passes(TestCase):
    def test_a_filtered_read_says_the_same_of_the_frames_that_pass(self):
        filters = ("frame.number", "rdma.event", "frame.number % 7 == 3", "rdma.response_in")
        for name in ("rxe-loss1pct-send-bw", "rxe-verbs-rnr", "rxe-rxdrop2pct-read-bw", "siw-loss1pct-send-bw", "rxe-ecn-ce-write-bw"):
            def filtered(wanted):
                return plugin_fields(capture(name), BACKWARD + FORWARD, "-2", "-Y", wanted)

            (_, everything), *others = list(side_by_side(filtered, filters))
            whole = everything()
            for wanted, passed in others:
                with self.subTest(capture=name, filter=wanted):
                    passed = passed()
                    self.assertEqual({f: whole[f] for f in passed}, passed)
                    if wanted == "rdma.event":
                        self.assertTrue(passed)

    def test_links_lead_there_and_back(self):
        for name in ("rxe-write-bw-64k", "rxe-read-bw-4k", "siw-read-bw-4k-crc", "rxe-verbs-atomic"):
            with self.subTest(capture=name):
                frames = plugin_fields(capture(name), ["rdma.response_in", "rdma.request_in"], "-2")
                there = {(f, int(to)) for f, v in frames.items() for to in v.get("rdma.response_in", [])}
                back = {(int(of), f) for f, v in frames.items() for of in v.get("rdma.request_in", [])}
                self.assertTrue(there)
                self.assertLessEqual(there, back)
                for request, response in there:
                    self.assertLess(request, response)

    def test_the_response_time_is_the_difference_of_the_frames_times(self):
        """Of a message that one ACK answers alone: its last packet to the ACK, by the capture's own clock."""
        names = ["frame.time_epoch", "rdma.request_in", "rdma.response_time"]
        frames = plugin_fields(capture("rxe-send-lat-64"), names)
        checked = 0
        for fields in frames.values():
            if len(fields.get("rdma.request_in", [])) != 1 or len(fields.get("rdma.response_time", [])) != 1:
                continue
            request = frames[int(fields["rdma.request_in"][0])]
            by_clock = float(fields["frame.time_epoch"][0]) - float(request["frame.time_epoch"][0])
            self.assertAlmostEqual(by_clock, float(fields["rdma.response_time"][0]), delta=1e-6)
            checked += 1
        self.assertGreater(checked, 100)


class Commands(TestCase):
    """What a reader written apart found: tests/unit/upper/nvme-rdma-rxe.tsv."""

    def test_commands_have_their_frames_and_times(self):
        lines = [line for line in (ROOT / "tests/unit/upper/nvme-rdma-rxe.tsv").read_text().splitlines() if line[0] != "#"]
        wanted = list(csv.DictReader(lines, delimiter="\t"))
        names = ["rdma.io.id", "rdma.io.role", "rdma.io.request_in", "rdma.io.response_in", "rdma.io.latency", "rdma.io.data"]
        frames = plugin_fields(capture("nvme-rdma-rxe"), names, "-2")
        for command in wanted:
            request, response = frames[int(command["request_last"])], frames[int(command["response"])]
            self.assertEqual((request["rdma.io.id"], request["rdma.io.role"], request["rdma.io.response_in"]),
                             ([command["id"]], ["request"], [command["response"]]))
            self.assertEqual((response["rdma.io.id"], response["rdma.io.role"], response["rdma.io.request_in"]),
                             ([command["id"]], ["response"], [command["request_last"]]))
            parts = [int(command[f"{part}_ns"]) for part in ("request", "target_before", "data", "target_after", "response")]
            self.assertEqual(float(response["rdma.io.latency"][0]), sum(parts) / 1e9)
            self.assertEqual(float(response["rdma.io.data"][0]), parts[2] / 1e9)

    def test_they_can_be_left_out(self):
        frames = plugin_fields(capture("nvme-rdma-rxe"), ["rdma.io.id"], "-o", "rdma.commands:FALSE")
        self.assertFalse(any("rdma.io.id" in fields for fields in frames.values()))


def seconds(frames, later, earlier):
    return float(frames[later]["frame.time_epoch"][0]) - float(frames[earlier]["frame.time_epoch"][0])


class Recoveries(TestCase):
    """The parts of a recovery against the capture's own clock and what tshark itself reads of PSNs, NAKs and TCP."""
    OURS = ["rdma.recovery.cause", "rdma.recovery.nak_generation", "rdma.recovery.nak_reaction", "rdma.recovery.total",
            "rdma.recovery.lost_frame", "rdma.recovery.first_out_of_sequence_frame", "rdma.recovery.nak_frame"]
    ROCE = ["frame.time_epoch", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.aeth.syndrome",
            "infiniband.bth.destqp"]
    TCP = ["frame.time_epoch", "tcp.seq_raw", "tcp.ack_raw", "tcp.srcport", "tcp.len", "tcp.analysis.duplicate_ack_num",
           "tcp.options.sack_le", "tcp.analysis.retransmission"]

    def part(self, fields, name):
        values = fields.get("rdma.recovery." + name, [])
        self.assertLessEqual(len(values), 1)
        return None if not values else int(values[0]) if name.endswith("frame") else float(values[0])

    def check_times(self, frames, number):
        """Each part is the difference of its frames' times, and is there where both frames are."""
        fields = frames[number]
        lost, beyond, nak = (self.part(fields, n) for n in ("lost_frame", "first_out_of_sequence_frame", "nak_frame"))
        generation, reaction, total = (self.part(fields, n) for n in ("nak_generation", "nak_reaction", "total"))
        if generation is not None and beyond is not None:
            self.assertAlmostEqual(seconds(frames, nak, beyond), generation, delta=1e-6)
        if reaction is not None:
            self.assertAlmostEqual(seconds(frames, number, nak), reaction, delta=1e-6)
        if total is not None:
            self.assertTrue((lost is None) != (beyond is None), fields)
            self.assertAlmostEqual(seconds(frames, number, lost or beyond), total, delta=1e-6)
        return lost, beyond, nak, reaction, total

    @staticmethod
    def packets(frames):
        """Requests of RC (SEND and WRITE) of the busiest flow, and NAKs of a PSN sequence error, as (frame, PSN, is NAK)."""
        queues = [v["infiniband.bth.destqp"][0] for v in frames.values() if v.get("infiniband.bth.opcode")]
        busiest = max(set(queues), key=queues.count)
        for number, fields in sorted(frames.items()):
            opcode = int(fields.get("infiniband.bth.opcode", ["255"])[0], 0)
            syndrome = int(fields.get("infiniband.aeth.syndrome", ["0"])[0], 0)
            request = opcode <= 0x0b and fields["infiniband.bth.destqp"] == [busiest]
            if request or (opcode == 0x11 and syndrome == 0x60):
                yield number, int(fields["infiniband.bth.psn"][0], 0), opcode == 0x11

    def test_roce_losses_before_the_capture_are_told_as_the_receiver_saw_them(self):
        """The receiver sees what the capture sees: its expected PSN (IBTA 9.7.4.1.2) says what is out of sequence."""
        frames = plugin_fields(capture("rxe-loss1pct-send-bw"), self.OURS + self.ROCE, "-2")
        expected = beyond = nak = None
        found = {}
        for number, psn, is_nak in self.packets(frames):
            if is_nak:
                if psn == expected and beyond and not nak:
                    nak = number
                continue
            if expected is None or psn == expected:
                if beyond and nak:
                    found[number] = (beyond, nak)
                expected = (psn + 1) % (1 << 24)
                beyond = nak = None
            elif not beyond and (psn - expected) % (1 << 24) < 1 << 23:
                beyond = number
        told = {}
        for number, fields in frames.items():
            if "rdma.recovery.cause" not in fields:
                continue
            lost, first, nak, reaction, total = self.check_times(frames, number)
            if fields["rdma.recovery.cause"] == ["NAK"] and total is not None:
                self.assertIsNone(lost)
                self.assertIsNotNone(self.part(fields, "nak_generation"))
                self.assertIsNotNone(reaction)
                told[number] = (first, nak)
        self.assertGreater(len(told), 5)
        self.assertEqual(found, told)

    def test_roce_losses_behind_the_capture_are_told_by_psn(self):
        """What was lost is the last packet of that PSN before the NAK that names it."""
        frames = plugin_fields(capture("rxe-rxdrop1pct-write-bw"), self.OURS + self.ROCE, "-2")
        packets = list(self.packets(frames))
        checked = 0
        for number, psn, is_nak in packets:
            if is_nak or "rdma.recovery.cause" not in frames[number]:
                continue
            lost, _, nak, reaction, total = self.check_times(frames, number)
            before = [f for f, p, other in packets if p == psn and not other and f < number]
            naks = [f for f, p, other in packets if p == psn and other and before and before[-1] < f < number]
            if frames[number]["rdma.recovery.cause"] == ["timeout"]:
                self.assertEqual((before[-1], None, None), (lost, nak, reaction))
                self.assertEqual([], naks)
            else:
                self.assertEqual((before[-1], naks[0]), (lost, nak))
                self.assertIsNotNone(reaction)
            self.assertIsNotNone(total)
            checked += 1
        self.assertGreater(checked, 5)

    def test_no_recovery_begins_where_nothing_is_sent_again(self):
        for name in ("rxe-write-bw-64k", "rxe-read-bw-4k", "siw-write-bw-64k-crc", "rxe-dup-send-bw"):
            with self.subTest(capture=name):
                frames = plugin_fields(capture(name), ["rdma.recovery.cause", "infiniband.bth.psn", "rdma.duplicate"])
                self.assertTrue(frames)
                self.assertEqual({}, {f: v for f, v in frames.items() if "rdma.recovery.cause" in v})

    def test_iwarp_is_told_by_sequence_numbers_and_duplicate_acknowledgements(self):
        for name in ("siw-loss1pct-send-bw", "siw-rxdrop2pct-read-bw"):
            frames = plugin_fields(capture(name), self.OURS + self.TCP, "-2")
            reactions = totals = 0
            for number, fields in frames.items():
                if "rdma.recovery.cause" not in fields:
                    continue
                with self.subTest(capture=name, frame=number):
                    lost, beyond, nak, reaction, total = self.check_times(frames, number)
                    sequence, port = int(fields["tcp.seq_raw"][0]), fields["tcp.srcport"]
                    if lost is not None:
                        self.assertEqual((fields["tcp.seq_raw"], port),
                                         (frames[lost]["tcp.seq_raw"], frames[lost]["tcp.srcport"]))
                    if beyond is not None:
                        self.assertEqual(port, frames[beyond]["tcp.srcport"])
                        self.assertGreater((int(frames[beyond]["tcp.seq_raw"][0]) - sequence) % (1 << 32), 0)
                        self.assertLess((int(frames[beyond]["tcp.seq_raw"][0]) - sequence) % (1 << 32), 1 << 31)
                    if nak is not None:
                        self.assertNotEqual(port, frames[nak]["tcp.srcport"])
                        # tshark counts duplicates from 1; SACK says the same without.
                        self.assertTrue(frames[nak].get("tcp.analysis.duplicate_ack_num") == ["1"]
                                        or frames[nak].get("tcp.options.sack_le"))
                        self.assertEqual(fields["tcp.seq_raw"], frames[nak]["tcp.ack_raw"])
                    reactions += reaction is not None
                    totals += total is not None
            self.assertGreater(reactions, 1)
            self.assertGreater(totals, 1)


class Checksums(TestCase):
    def test_every_packet_has_its_verdict(self):
        """One for each BTH and each FPDU that Wireshark itself shows; none where the stream has no CRC."""
        icrcs = fpdus = 0
        for name in ("rxe-write-bw-64k", "rxe-send-lat-64", "rxe-ud-pingpong", "rxe-verbs-atomic", "rxe-loss1pct-send-bw",
                     "siw-write-bw-64k-crc", "siw-read-bw-4k-crc", "siw-write-bw-64k-nocrc"):
            names = ["rdma.crc", "infiniband.bth.opcode", "iwarp_mpa.ulpdulength"]
            for frame, fields in plugin_fields(capture(name), names).items():
                with self.subTest(capture=name, frame=frame):
                    packets, units = (fields.get(n, []) for n in names[1:])
                    expected = 0 if name.endswith("nocrc") else len(packets) + len(units)
                    self.assertEqual(["good"] * expected, fields.get("rdma.crc", []))
                    icrcs += len(packets)
                    fpdus += len(units)
        self.assertGreater(icrcs, 1000)
        self.assertGreater(fpdus, 500)

    def test_damaged_packets_are_told_from_the_others(self):
        octets = bytearray(capture("rxe-write-bw-64k").read_bytes())
        self.assertEqual(b"\xd4\xc3\xb2\xa1", octets[:4], "a little-endian pcap file is walked through here")
        damaged = set()
        at, frame = 24, 1
        while at < len(octets):
            length = struct.unpack_from("<I", octets, at + 8)[0]
            if frame % 10 == 0 and length > 600:
                octets[at + 16 + 500] ^= 1
                damaged.add(frame)
            at += 16 + length
            frame += 1
        self.assertGreater(len(damaged), 50)
        with tempfile.TemporaryDirectory(prefix="rdmascope-checksums-") as folder:
            os.chmod(folder, 0o755)
            path = pathlib.Path(folder) / "damaged.pcap"
            path.write_bytes(octets)
            path.chmod(0o644)
            frames = plugin_fields(path, ["rdma.crc", "rdma.icrc_bad"])
        self.assertEqual(damaged, {f for f, v in frames.items() if v.get("rdma.crc") == ["bad"]})
        self.assertEqual(damaged, {f for f, v in frames.items() if "rdma.icrc_bad" in v})


if __name__ == "__main__":
    unittest.main()
