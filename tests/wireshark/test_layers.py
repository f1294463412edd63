"""The layers that Wireshark lacks: only where Wireshark does not read them, each switched off by its preference."""
import pathlib
import struct
import tempfile
import unittest

from plugged import LAYERS, TestCase, capture, counted, dump_fields, plugin_fields, side_by_side, tshark


class Layers(TestCase):
    def test_each_is_switched_off_alone(self):
        holders = {"dissect_cnp": "made-roce-opcodes", "dissect_xrc": "made-roce-opcodes", "dissect_immediate": "made-rdmap",
                   "dissect_terminate": "made-terminate", "dissect_mpa_parameters": "siw-rping-crc"}
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


if __name__ == "__main__":
    unittest.main()
