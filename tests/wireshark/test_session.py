"""As Wireshark's window does: file after file in one process, frames in any order, preferences that change on the way. What is said
of a capture is what a tshark of its own says."""
import random
import unittest

from plugged import TestCase, capture, plugin_fields, said
from session import Session

FIELDS = ["rdma.flow", "rdma.message.operation", "rdma.response_in", "rdma.retransmission_of", "rdma.event", "rdma.outstanding.bytes"]
NAMES = ("rxe-verbs-rnr", "siw-verbs-mix", "rxe-loss1pct-send-bw", "made-terminate")


def labels(tree):
    """All lines of a tree, but those that tell how far the frame is from the one that was looked at before."""
    for item in tree:
        if not item["l"].startswith("Time delta from previous"):
            yield item["l"]
        yield from labels(item.get("n", []))


class OneProcess(TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.__exit__)

    def tearDown(self):
        self.assertEqual([], said(self.session.complaints()))

    def check_against_tshark(self, name, expected):
        rows = self.session.open(capture(name)).rows(*FIELDS)
        self.assertEqual(expected.keys(), rows.keys())
        for frame, texts in rows.items():
            self.assertEqual([",".join(expected[frame].get(field, [])) for field in FIELDS], texts, f"{name}, frame {frame}")

    def test_a_file_says_what_it_says_alone_whatever_was_open_before(self):
        expected = {name: plugin_fields(capture(name), FIELDS, "-2") for name in NAMES}
        for name in (*NAMES, *reversed(NAMES), NAMES[0], NAMES[0]):
            self.check_against_tshark(name, expected[name])

    def test_trees_do_not_depend_on_the_order_in_which_they_are_opened(self):
        for name in NAMES:
            with self.subTest(capture=name):
                frames = list(self.session.open(capture(name)).rows("rdma.flow"))[:300]
                forwards = {frame: list(labels(self.session.tree(frame))) for frame in frames}
                self.assertTrue(any("Flow: " in label for lines in forwards.values() for label in lines))
                for frame in random.Random(7).sample(frames, len(frames)):
                    self.assertEqual(forwards[frame], list(labels(self.session.tree(frame))), f"frame {frame}")

    def test_a_preference_holds_from_the_next_reading_on(self):
        path = capture("made-roce-opcodes")
        shown = {frame for frame, texts in self.session.open(path).rows("rdma.cnp.reserved").items() if texts[0]}
        self.assertTrue(shown)
        for value, wanted in (("FALSE", set()), ("TRUE", shown)):
            self.assertEqual({"status": "OK"}, self.session.ask("setconf", name="rdma.dissect_cnp", value=value))
            found = {frame for frame, texts in self.session.open(path).rows("rdma.cnp.reserved").items() if texts[0]}
            self.assertEqual(wanted, found)


if __name__ == "__main__":
    unittest.main()
