"""Every capture with the plugin: what it says, frame by frame, is what `rdmascope` says of the same capture."""
import functools
import json
import unittest

from plugged import (BACKWARD, LAYERS, TestCase, captures, counted, dump_fields, faults, plugin_fields, rdmascope, side_by_side, tshark)

UNIT_FIELDS = ["rdma.transport", "rdma.service", "rdma.operation", "rdma.position", "rdma.length", "rdma.crc",
               "rdma.repeats_frame", "rdma.first_frame", "rdma.stream", "rdma.from_client", "rdma.tcp_sequence",
               "rdma.tcp_octets", "rdma.markers", "rdma.notice"]
# Of a frame that has no unit, `dump` tells the outcome, too, whatever it carries.
OUTCOME_FIELDS = ["rdma.outcome", "rdma.reason", "rdma.layer", "rdma.odd"]
ANALYSIS_FIELDS = ["rdma.flow", "rdma.message.operation", "rdma.message.number", "rdma.message.bytes", "rdma.event",
                   "rdma.retransmission"]
LAYER_FIELDS = [name for group in LAYERS.values() for name in group]
EVERY_FIELD = list(dict.fromkeys(UNIT_FIELDS + OUTCOME_FIELDS + ANALYSIS_FIELDS + LAYER_FIELDS + BACKWARD))
OPERATIONS = ("send", "send_immediate", "send_invalidate", "write", "write_immediate", "read", "fetch_add", "compare_swap")


class Captures(TestCase):
    def test_the_frames_say_what_dump_says_and_add_up_to_the_flows(self):
        def both(path):
            return (dump_fields(path, UNIT_FIELDS + OUTCOME_FIELDS + LAYER_FIELDS), json.loads(rdmascope("flows", "--json", "-r", path))["flows"],
                    plugin_fields(path, EVERY_FIELD, "-2"), plugin_fields(path, BACKWARD))

        layers_seen = set()
        for path, told in side_by_side(both, captures()):
            with self.subTest(capture=path.name):
                dumped, flows, frames, once = told()
                with self.subTest("units"):
                    self.check_units(dumped, frames)
                with self.subTest("sums"):
                    self.check_sums(path, flows, frames)
                with self.subTest("layers"):
                    layers_seen |= self.check_layers(dumped, frames)
                with self.subTest("two passes say what one says"):
                    self.check_passes(once, frames)
        self.assertEqual(set(LAYER_FIELDS), layers_seen)

    def check_layers(self, dumped, frames):
        """Those that Wireshark lacks are read as `dump` reads them. Returns the fields that were found."""
        found = set()
        for number, fields in dumped.items():
            expected = {n: v for n, v in fields.items() if n in LAYER_FIELDS}
            self.assertEqual(expected, {n: v for n, v in frames[number].items() if n in LAYER_FIELDS}, f"frame {number}")
            found |= expected.keys()
        return found

    def check_passes(self, once, twice):
        self.assertEqual(once.keys(), twice.keys())
        for frame, fields in once.items():
            self.assertEqual(fields, {n: v for n, v in twice[frame].items() if n in BACKWARD}, f"frame {frame}")

    def check_units(self, expected, frames):
        self.assertEqual(expected.keys(), frames.keys())
        for number, fields in expected.items():
            fields = {n: v for n, v in fields.items() if n in UNIT_FIELDS + OUTCOME_FIELDS}
            found = {n: v for n, v in frames[number].items() if n in UNIT_FIELDS + OUTCOME_FIELDS}
            if "rdma.transport" not in fields:
                fields = {n: v for n, v in fields.items() if n not in OUTCOME_FIELDS}
                found = {n: v for n, v in found.items() if n not in OUTCOME_FIELDS}
            self.assertEqual(fields, found, f"frame {number}")

    def check_sums(self, path, flows, frames):
        operations = counted(frames, "rdma.message.operation")
        for operation in OPERATIONS:
            self.assertEqual(sum(f["messages"][operation]["count"] for f in flows), operations[operation], operation)
        self.check_lengths(path, flows, frames)
        self.check_events(flows, counted(frames, "rdma.event"))
        self.check_retransmissions(flows, frames)
        self.assertLessEqual({int(f) for f in counted(frames, "rdma.flow")}, {f["id"] for f in flows})

    def check_lengths(self, path, flows, frames):
        """A message's own length is known where all of it passed in order; flows also count what they infer."""
        spoilt = {"gap", "reordered"} & {kind for f in flows for kind in f["exhibits"] or {}}
        if spoilt or "snap96" in path.name:
            return
        self.assertEqual(sum(f["messages"][o]["bytes"] for f in flows for o in OPERATIONS),
                         sum(map(int, counted(frames, "rdma.message.bytes").elements())))

    def check_events(self, flows, events):
        expected = {}
        for flow in flows:
            for kind, exhibit in (flow["exhibits"] or {}).items():
                expected[kind] = expected.get(kind, 0) + exhibit["count"]
        self.assertEqual(expected, dict(events))

    def check_retransmissions(self, flows, frames):
        """RoCE: one packet a frame. Over TCP an FPDU's repeat is the segment's."""
        if any(f["transport"] == "iwarp" for f in flows):
            return
        again = sum(f["retransmitted_packets"] or 0 for f in flows)
        # A damaged packet that had passed before is counted with its flow, but nothing in it is believed.
        damaged = sum("rdma.repeats_frame" in fields and "icrc_bad" in fields.get("rdma.event", [])
                      and "rdma.retransmission" not in fields for fields in frames.values())
        self.assertEqual(again, damaged + sum("rdma.retransmission" in fields for fields in frames.values()))

    def test_whole_trees_and_expert_information_are_drawn(self):
        drawn = functools.partial(tshark, "-n", "-2", "-V", "-z", "expert", "-r")
        for path, result in side_by_side(drawn, captures()):
            with self.subTest(capture=path.name):
                result = result()
                self.assertEqual(result.returncode, 0, result.stderr[-2000:])
                self.assertEqual([], faults(result))
                self.assertNotRegex(result.stdout, r"Malformed Packet: RDMA\b|Dissector bug, protocol RDMA\b")


if __name__ == "__main__":
    unittest.main()
