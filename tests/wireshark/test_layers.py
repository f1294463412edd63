"""The layers that Wireshark lacks: only where Wireshark does not read them, each switched off by its preference."""
import pathlib
import struct
import tempfile
import unittest

from plugged import LAYERS, TestCase, capture, counted, dump_fields, plugin_fields, side_by_side, tshark


class Layers(TestCase):
    def test_each_is_switched_off_alone(self):
        holders = {"dissect_cnp": "made-roce-opcodes", "dissect_xrc": "made-roce-opcodes", "dissect_immediate": "made-rdmap",
                   "dissect_terminate": "made-terminate", "dissect_mpa_parameters": "siw-rping-crc",
                   "dissect_upper": "srp-rxe"}
        for preference, name in holders.items():
            with self.subTest(preference=preference):
                names = LAYERS[preference]
                self.assertTrue(any(plugin_fields(capture(name), names).values()))
                self.assertFalse(any(plugin_fields(capture(name), names, "-o", f"rdma.{preference}:FALSE").values()))

    def test_what_wireshark_reads_itself_is_not_added_again(self):
        names = ["iwarp_ddp.stag", "iwarp_ddp.msn", "iwarp_rdma.opcode", "iwarp_mpa.ulpdulength", "infiniband.reth.va"]
        chosen = [word for each in names for word in ("-e", each)]
        for name in ("siw-rping-crc", "siw-write-bw-64k-crc", "siw-verbs-srq", "rxe-write-bw-64k", "made-terminate"):
            with self.subTest(capture=name):
                arguments = ("-n", "-r", capture(name), "-T", "fields", *chosen)
                (_, without), (_, plugged) = side_by_side(lambda plugged: tshark(*arguments, plugged=plugged).stdout, (False, True))
                self.assertTrue(without().strip())
                self.assertEqual(without(), plugged())


class Midway(TestCase):
    """A capture that begins after the MPA request: Wireshark sees TCP alone."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-midway-")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name).chmod(0o755)
        self.path = pathlib.Path(folder.name) / "midway.pcap"
        octets = capture("siw-write-bw-64k-crc").read_bytes()
        at, number, kept = 24, 0, [octets[:24]]
        while at < len(octets):
            length = struct.unpack_from("<I", octets, at + 8)[0]
            number += 1
            if number > 40:
                kept.append(octets[at:at + 16 + length])
            at += 16 + length
        self.path.write_bytes(b"".join(kept))
        self.path.chmod(0o644)

    NAMES = ["iwarp_ddp.stag", "iwarp_ddp.tagged_offset", "iwarp_rdma.opcode", "iwarp_mpa.ulpdulength"]

    def test_its_fpdus_are_found_under_wiresharks_own_names(self):
        chosen = [word for each in self.NAMES for word in ("-e", each)]
        self.assertFalse(tshark("-r", self.path, "-T", "fields", *chosen, plugged=False).stdout.strip())
        expected = dump_fields(self.path, self.NAMES)
        found = plugin_fields(self.path, self.NAMES, "-2")
        self.assertGreater(len(counted(expected, "iwarp_ddp.tagged_offset")), 20)
        self.assertEqual(expected, found)

    def test_the_preference_keeps_them_out(self):
        off = ("-o", "rdma.dissect_midway:FALSE")
        self.assertFalse(any(plugin_fields(self.path, self.NAMES, *off).values()))

    def test_the_display_filter_finds_them(self):
        everything = plugin_fields(self.path, ["iwarp_ddp.stag"])
        with_stag = {frame for frame, fields in everything.items() if fields}
        self.assertEqual(with_stag, plugin_fields(self.path, [], "-Y", "iwarp_ddp.stag").keys())


def checksum(octets):
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Stream:
    """A TCP connection with iWARP, typed from RFC 5044 and RFC 5041: MPA without markers and CRC, and Sends."""

    def __init__(self, port, request, reply):
        self.port, self.sequence, self.numbers, self.frames = port, [1000, 9000], [0, 0], []
        for side, key, private in ((0, b"MPA ID Req Frame", request), (1, b"MPA ID Rep Frame", reply)):
            self.segment(side, key + struct.pack(">BBH", 0, 1, len(private)) + private)

    def segment(self, side, payload):
        addresses = [bytes((192, 0, 2, 2)), bytes((192, 0, 2, 1))]
        ports = [40000, self.port]
        tcp = struct.pack(">HHIIBBHHH", ports[side], ports[1 - side], self.sequence[side], self.sequence[1 - side], 0x50, 0x18, 65535, 0, 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(payload), len(self.frames), 0, 64, 6, 0, addresses[side], addresses[1 - side])
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        self.frames.append(bytes(12) + b"\x08\x00" + ip + tcp + payload)
        self.sequence[side] += len(payload)

    def send(self, side, message):
        self.numbers[side] += 1
        unit = struct.pack(">BBIIII", 0x41, 0x43, 0, 0, self.numbers[side], 0) + message
        padded = struct.pack(">H", len(unit)) + unit
        self.segment(side, padded + bytes(-len(padded) % 4) + bytes(4))

    def write(self, path):
        records = [struct.pack("<IIII", 1700000000, 1000 * i, len(frame), len(frame)) + frame for i, frame in enumerate(self.frames)]
        path.write_bytes(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + b"".join(records))
        path.chmod(0o644)


class UpperLayers(TestCase):
    """What Wireshark has no dissector for, or none on iWARP."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-upper-")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name).chmod(0o755)
        self.path = pathlib.Path(folder.name) / "upper.pcap"

    def values(self, names):
        chosen = [word for each in names for word in ("-e", each)]
        self.assertFalse(tshark("-r", self.path, "-T", "fields", *chosen, plugged=False).stdout.strip())
        found = plugin_fields(self.path, names)
        self.assertEqual(dump_fields(self.path, names), found)
        return {frame: fields for frame, fields in found.items() if fields}

    def test_nvme_on_iwarp(self):
        # NVMe RDMA Transport 1.0, 3.1: RECFMT 0, QID 1, HRQSIZE 32, HSQSIZE 31, CNTLID 1.
        stream = Stream(4421, struct.pack("<HHHHH", 0, 1, 32, 31, 1) + bytes(22), struct.pack("<HH", 0, 32) + bytes(28))
        # NVMe Base 2.0: a Read of 8 blocks from block 520 on; the key is 24 bits of length and 32 bits of key.
        stream.send(0, struct.pack("<BBHI", 2, 0x40, 7, 1) + bytes(16) + struct.pack("<Q", 0x1000) + (4096).to_bytes(3, "little")
                    + struct.pack("<I", 0x44af) + b"\x4f" + struct.pack("<QI", 520, 7) + bytes(12))
        stream.send(1, bytes(8) + struct.pack("<HHHH", 4, 1, 7, 0))
        stream.write(self.path)
        names = ["nvme.cmd.opc", "nvme.cmd.cid", "nvme.cmd.slba", "nvme.cmd.sgl1.key", "nvme.cqe.cid", "nvme.cqe.sqhd"]
        numbers = {frame: {name: int(value, 0) for name, (value,) in fields.items()} for frame, fields in self.values(names).items()}
        self.assertEqual(numbers, {3: {"nvme.cmd.opc": 2, "nvme.cmd.cid": 7, "nvme.cmd.slba": 520, "nvme.cmd.sgl1.key": 0x44af},
                                   4: {"nvme.cqe.cid": 7, "nvme.cqe.sqhd": 4}})

    def test_iser_on_iwarp(self):
        # RFC 7145, A.1: ZBVA not supported, Send with Invalidate supported.
        stream = Stream(3262, b"\x80\0\0\0", b"\x80\0\0\0")
        # RFC 7145, 9.2: W, R and their keys; RFC 7143, 11.3: a READ(10) of 8 blocks from block 100 on.
        header = struct.pack(">BBHIQIQ", 0x14, 0, 0, 0, 0, 0x31e, 0x2000)
        stream.send(0, header + struct.pack(">BBHI", 0x01, 0xc1, 0, 0) + bytes(8) + struct.pack(">IIII", 0x3e, 4096, 1, 1)
                    + struct.pack(">BBIBHB", 0x28, 0, 100, 0, 8, 0) + bytes(6))
        stream.send(1, struct.pack(">BBHIQIQ", 0x10, 0, 0, 0, 0, 0, 0) + struct.pack(">BBBB", 0x21, 0x80, 0, 0) + bytes(12)
                    + struct.pack(">IIIIII", 0x3e, 0, 1, 2, 33, 0) + bytes(8))
        stream.write(self.path)
        found = self.values(["iscsi.opcode", "iscsi.initiatortasktag"])
        self.assertEqual({frame: [int(value, 0) for (value,) in fields.values()] for frame, fields in found.items()},
                         {3: [0x01, 0x3e], 4: [0x21, 0x3e]})

    def test_protocols_without_a_dissector(self):
        for name, fields in (("srp-rxe", ["rdma.srp.type", "rdma.srp.tag", "rdma.srp.lun", "rdma.srp.key", "rdma.srp.request_limit"]),
                             ("rds-rxe", ["rdma.rds.sequence", "rdma.rds.source_port", "rdma.rds.flags"]),
                             ("made-rsocket", ["rdma.rsocket.operation", "rdma.rsocket.value", "rdma.rsocket.control"])):
            with self.subTest(capture=name):
                self.assertEqual(dump_fields(capture(name), fields), plugin_fields(capture(name), fields))
                self.assertTrue(any(plugin_fields(capture(name), fields).values()))


if __name__ == "__main__":
    unittest.main()
