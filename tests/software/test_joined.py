"""Traces of unmodified programs next to a capture of their packets: what `flows --trace` makes of both, against what the programs were
told and report. Posts, depth and sizes are perftest's own options."""
import json
import pathlib
import tempfile

import software
from software import ADDRESS, TestCase, free_port, needs
from test_capture import Capture, rdmascope


@needs("tcpdump", "ib_write_bw", "ib_send_bw", "ib_read_bw")
class Joined(TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-joined-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def traffic(self, program, *arguments):
        """The capture, the client's trace, its process id, and what it printed."""
        port = free_port()
        capture = Capture(self, port)
        shared = [program, "-R", "-F", "-p", port, *arguments]
        server = self.start(*shared).wait_for_port(port)
        client = self.start(*shared, ADDRESS, options=("--trace", str(self.folder / "trace")))
        printed, _ = self.both(server, client)
        return port, capture.finish(self), printed

    def flow(self, port, file, operation):
        """The client's flow that carried the operation; perftest has one connection for the traffic and one for its figures."""
        flows = json.loads(rdmascope("flows", "--json", "-r", file, "--trace", self.folder / "trace"))["flows"]
        found = [one for one in flows if one["destination"]["port"] == port and one["messages"][operation]["count"] > 100]
        self.assertEqual(len(found), 1, [(one["destination"], one["messages"]) for one in flows])
        return found[0], flows

    def check(self, program, operation, count, size, depth):
        port, file, printed = self.traffic(program, "-n", count, "-s", size, "-t", depth)
        flow, flows = self.flow(port, file, operation)
        # Peer-to-peer set-up begins with one Write of no octets, the RTR message, which nobody posted (RFC 6581).
        self.assertEqual({name: one["count"] for name, one in flow["messages"].items() if one["count"] and name != operation},
                         {} if operation == "write" else {"write": 1})
        self.assertEqual(flow["messages"][operation]["count"], count + (operation == "write"))
        self.assertEqual(flow["work"]["posts"], count)
        self.assertEqual(flow["work"]["completion_errors"], 0)
        self.assertEqual(flow["work"]["records_lost"], 0)
        self.assertEqual(flow["queue_depth"]["max"], depth)
        self.assertGreaterEqual(flow["queue_depth"]["capacity"], depth)
        self.assertLessEqual(flow["queue_depth"]["mean"], depth)
        self.assertTrue(flow["process"]["command"].startswith(f"{program} -R -F -p {port}"), flow["process"])
        # The summary of `run` names the same process.
        self.assertIn(f"process {flow['process']['pid']}: {program} -R", printed)
        self.assertRegex(printed, rf"QP 0x[0-9a-f]+: {count} posts of {count * size} bytes")
        # The server was not traced.
        reverse = next(one for one in flows if one["id"] == flow["reverse"])
        self.assertIsNone(reverse["process"])
        return flow

    def sums_are_whole(self, flow):
        parts = [flow[name] for name in ("post_to_wire_ns", "on_wire_ns", "wire_to_ack_ns", "ack_to_poll_ns")]
        whole = flow["post_to_poll_ns"]
        self.assertGreater(whole["count"], 0)
        self.assertEqual({one["count"] for one in parts}, {whole["count"]})
        # Means are rounded to nanoseconds, each.
        self.assertAlmostEqual(sum(one["mean"] for one in parts), whole["mean"], delta=5)

    def test_reads_wait_for_their_responses(self):
        # A Read is complete when its response is there, so that every one of them has all four parts.
        flow = self.check("ib_read_bw", "read", 1000, 4096, 8)
        self.assertEqual(flow["work"]["messages_matched"], 1000)
        self.sums_are_whole(flow)
        self.assertGreater(flow["wire_to_ack_ns"]["p50"], 0)

    def test_writes(self):
        self.check("ib_write_bw", "write", 2000, 8192, 16)

    def test_sends(self):
        self.check("ib_send_bw", "send", 1000, 1024, 32)

    def test_without_a_trace_nothing_is_claimed(self):
        port, file, _ = self.traffic("ib_write_bw", "-n", 200, "-s", 64)
        flows = json.loads(rdmascope("flows", "--json", "-r", file))["flows"]
        self.assertEqual({json.dumps(one["process"]) for one in flows}, {"null"})
        self.assertEqual({json.dumps(one["queue_depth"]) for one in flows}, {"null"})


if __name__ == "__main__":
    software.main()
