"""Facts depend on frames, not on how often and in which order Wireshark looks at them."""
import unittest

from plugged import TestCase, capture, captures, plugin_fields, side_by_side

# Known when the frame is read for the first time. What a later frame adds is forward: answers, the pairing and what
# follows from it.
BACKWARD = ["rdma.flow", "rdma.flow.destination", "rdma.message.number", "rdma.message.operation", "rdma.message.bytes",
            "rdma.message.first_frame", "rdma.request_in", "rdma.response_time", "rdma.retransmission",
            "rdma.retransmission_of", "rdma.gap.state", "rdma.gap.time", "rdma.outstanding.messages",
            "rdma.outstanding.bytes", "rdma.nak", "rdma.rnr_nak", "rdma.cnp", "rdma.ce", "rdma.icrc_bad", "rdma.operation"]
FORWARD = ["rdma.response_in", "rdma.message.latency"]


class Passes(TestCase):
    def test_two_passes_say_what_one_says(self):
        def passes(path):
            return plugin_fields(path, BACKWARD), plugin_fields(path, BACKWARD, "-2")

        for path, told in side_by_side(passes, captures()):
            with self.subTest(capture=path.name):
                once, twice = told()
                self.assertEqual(once.keys(), twice.keys())
                for frame, fields in once.items():
                    self.assertEqual(fields, twice[frame], f"frame {frame}")

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


if __name__ == "__main__":
    unittest.main()
