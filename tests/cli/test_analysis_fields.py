"""What frames say because of those before them: `dump --flow`, and the fields that `dump` shares with the Wireshark plugin.
Expected values come from `flows` of the same capture, and from the capture's own packets."""
import json
import re
import subprocess
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, ROOT, TestCase, dump, run

LOSS = PCAPS / "rxe-loss1pct-send-bw.pcap.gz"
SIW = PCAPS / "siw-loss1pct-send-bw.pcap"
RPING = PCAPS / "rxe-rping.pcap"
NVME = PCAPS / "nvme-rdma-rxe.pcap.gz"
CAPTURES = [LOSS, SIW, RPING, NVME]


def flows_of(capture):
    return json.loads(run("flows", "--json", "-r", capture).stdout)["flows"]


def count(capture, *arguments):
    return int(dump("-r", capture, "--count", *arguments).stdout)


class Flow(TestCase):
    def test_packets_are_those_that_flows_counts(self):
        for capture in CAPTURES:
            for flow in flows_of(capture)[:6]:
                with self.subTest(capture=capture.name, flow=flow["id"]):
                    self.assertEqual(count(capture, "-Y", f"rdma.flow == {flow['id']}"), flow["packets"])

    def test_a_flow_comes_with_its_reverse_from_the_first_packet_on(self):
        for capture in CAPTURES:
            flows = {flow["id"]: flow for flow in flows_of(capture)}
            paired = next(flow for flow in flows.values() if flow["reverse"] is not None)
            both = paired["packets"] + flows[paired["reverse"]]["packets"]
            # A frame may also say something about a flow of which it holds no packet.
            self.assertGreaterEqual(count(capture, "--flow", paired["id"]), both)
            self.assertEqual(count(capture, "--flow", paired["id"]), count(capture, "--flow", paired["reverse"]))
            first = dump("-r", capture, "--flow", paired["id"], "--all", "-T", "fields", "-e", "frame.number", "-c", 1).stdout
            self.assertEqual(int(first), min(paired["id"], paired["reverse"]))

    def test_what_is_saved_is_the_flow(self):
        flow = flows_of(NVME)[0]
        saved = self.folder / "one.pcapng"
        self.succeeds(dump("-r", NVME, "--flow", flow["id"], "-w", saved))
        kept = flows_of(saved)
        ends = {(one["source"]["address"], one["source"]["qpn"]) for one in kept}
        self.assertIn((flow["source"]["address"], flow["source"]["qpn"]), ends)
        self.assertLessEqual(len(kept), 2)
        self.assertIn(flow["packets"], [one["packets"] for one in kept])

    def test_the_commands_of_why_work_when_they_are_pasted(self):
        page = run("why", "-r", LOSS).stdout
        commands = re.findall(r"See:\s+rdmascope (dump .* --flow \d+)$", page, re.MULTILINE)
        self.assertTrue(commands, page)
        for command in commands:
            result = subprocess.run(f"'{BINARY}' {command}", shell=True, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(len(result.stdout.splitlines()), 10)

    def test_mistakes(self):
        self.assertIn("there is no flow 999999", self.fails(dump("-r", RPING, "--flow", "999999"), 1))
        self.assertIn("--flow is of a file", self.fails(dump("-i", "lo", "--flow", "1"), 2))
        self.fails(dump("-r", RPING, "--flow", "x"), 2)

    def test_standard_input_is_read_once(self):
        flow = flows_of(RPING)[0]
        with open(RPING, "rb") as capture:
            result = dump("-r", "-", "--flow", flow["id"], "--count", stdin=capture)
        self.assertGreaterEqual(int(self.succeeds(result)), flow["packets"])


class Fields(TestCase):
    def test_retransmissions_are_as_many_as_flows_counts(self):
        for capture in (LOSS, SIW, PCAPS / "rxe-rxdrop2pct-read-bw.pcap.gz"):
            with self.subTest(capture=capture.name):
                resent = sum(flow["retransmitted_packets"] or 0 for flow in flows_of(capture))
                self.assertGreater(resent, 0)
                self.assertEqual(count(capture, "-Y", "rdma.retransmission"), resent)

    def test_response_times_are_the_latencies_of_flows(self):
        rows = dump("-r", RPING, "-T", "fields", "-e", "rdma.flow.reverse", "-e", "rdma.response_time", "-Y",
                    "rdma.response_time").stdout.splitlines()
        times = sorted(round(float(time) * 1e9) for row in rows for time in row.split("\t")[1].split(","))
        latencies = [figures for flow in flows_of(RPING) for figures in flow["latency_ns"].values() if figures["count"]]
        self.assertEqual(len(times), sum(figures["count"] for figures in latencies))
        self.assertEqual(times[0], min(figures["min"] for figures in latencies))
        self.assertEqual(times[-1], max(figures["max"] for figures in latencies))

    def test_names_are_those_of_the_plugin(self):
        plugin = "".join((ROOT / "plugins/wireshark" / name).read_text() for name in ("fields.cpp", "events.cpp"))
        known = set(re.findall(r'"(rdma\.[\w.]+)"', plugin))
        source = (ROOT / "dissect/output/analysis_fields.cpp").read_text()
        ours = set(re.findall(r'"(rdma\.[\w.]+)"', source))
        self.assertGreater(len(ours), 40)
        self.assertLessEqual(ours, known)
        listed = dump("-G", "fields").stdout
        for name in ours:
            self.assertIn(f"\t{name}\t", listed)

    def test_what_later_frames_tell_is_not_there(self):
        for name in ("rdma.response_in", "rdma.message.latency", "rdma.flow.vantage"):
            self.assertIn("is not a known field", self.fails(dump("-r", RPING, "-Y", name), 2))

    def test_words_are_those_of_the_figures(self):
        flows = flows_of(RPING)
        listed = dict(re.findall(r"^F\t[^\t]*\t(rdma\.[\w.]+)\t.*\t([^\t]*)$", dump("-G", "fields").stdout, re.MULTILINE))
        states = list(flows[0]["state_ns"])
        self.assertEqual(listed["rdma.gap.state"].split("; "), states)
        self.assertEqual(listed["rdma.message.operation"].split("; "), list(flows[0]["messages"]))


if __name__ == "__main__":
    unittest.main()
