"""The series: what promtool says of them, that they add up to what `flows --json` and the truth say, that none goes back.

    test_series.py --update    writes the list of series into the manual
"""
import concurrent.futures
import json
import sys
import unittest

from tools import BINARY, PCAPS, ROOT, captures, needs, program, run, samples, table, total, totals

sys.path.insert(0, str(ROOT / "tests" / "truth"))
sys.dont_write_bytecode = True
import expected
import truth

MANUAL = ROOT / "docs" / "man" / "rdmascope-prometheus.7"
BEGIN, END = '.\\" series: written by tests/prometheus/test_series.py --update\n', '.\\" end of series\n'
OPERATIONS = ["send", "send_immediate", "send_invalidate", "write", "write_immediate", "read", "fetch_add", "compare_swap"]


def flow_figures(flow):
    """What a flow of `flows --json` adds to which series: (name, label, its value) -> number."""
    found = {}

    def put(name, value, label="", of=""):
        if value is not None:
            found[name, label, of] = value

    iwarp = flow["transport"] == "iwarp"
    reliable = flow["retransmitted_packets"] is not None
    for series, member in (("packets", "packets"), ("wire_bytes", "wire_bytes"), ("payload_bytes", "payload_bytes"),
                           ("acknowledgement_packets", "acknowledgement_packets"),
                           ("retransmitted_packets", "retransmitted_packets"), ("duplicate_packets", "duplicate_packets"),
                           ("reordered_packets", "reordered_packets"), ("missing_packets", "missing_packets"),
                           ("ecn_ce_packets", "ecn_ce_packets"), ("ecn_capable_packets", "ecn_capable_packets"),
                           ("icrc_bad_packets", "icrc_bad"), ("mpa_crc_bad", "crc_bad")):
        put(f"rdma_{series}_total", flow[member])
    for operation in OPERATIONS:
        if flow["messages"][operation]["count"]:
            put("rdma_messages_total", flow["messages"][operation]["count"], "op", operation)
            put("rdma_message_bytes_total", flow["messages"][operation]["bytes"], "op", operation)
        if flow["latency_ns"][operation]["count"]:
            put("rdma_message_latency_seconds_count", flow["latency_ns"][operation]["count"], "op", operation)
    if iwarp:
        put("rdma_terminates_total", flow["terminates"])
    else:
        put("rdma_cnp_packets_total", flow["cnp_packets"])
        put("rdma_credits_exhausted_total", flow["credits"]["exhausted"])
    if reliable:
        put("rdma_timeouts_total", flow["timeouts"])
        put("rdma_recoveries_total", flow["recovery"]["count"])
        put("rdma_unseen_acknowledged_packets_total", flow["unseen_acknowledged_packets"])
    if reliable and not iwarp:
        put("rdma_rnr_naks_total", flow["rnr_naks"])
        for code, count in flow["naks"].items():
            put("rdma_naks_total", count, "code", code)
    if flow["tcp"]:
        for name in ("segments", "retransmitted_segments", "duplicate_acks", "ece_acks", "zero_windows"):
            put(f"rdma_tcp_{name}_total", flow["tcp"][name])
        # A figure of the connection, which both of its flows have.
        second = flow["reverse"] is not None and flow["reverse"] < flow["id"]
        put("rdma_unread_bytes_total", 0 if second else flow["tcp"]["unread_bytes"])
    return found


def adds_up(capture, text, flows, exact):
    """Failures: every figure of the flows is in the series, and there is nothing else in them."""
    wanted = {}
    for flow in flows:
        for key, value in flow_figures(flow).items():
            wanted[key] = wanted.get(key, 0) + value
    failures = []
    for (name, label, of), value in sorted(wanted.items()):
        having = total(text, name, **({label: of} if label else {}))
        if having != value:
            failures.append(f"{capture.name}: {name} {of}: {having}, but flows says {value}")
    # Times are sums of binary fractions.
    time = sum(flow["last_ns"] - flow["first_ns"] for flow in flows) / 1e9
    having = total(text, "rdma_flow_state_seconds_total") or 0
    if abs(having - time) > 1e-6 * max(time, 1):
        failures.append(f"{capture.name}: states sum to {having} s, but flows lasted {time} s")
    if exact:
        for state in flows[0]["state_ns"] if flows else []:
            time = sum(flow["state_ns"][state] for flow in flows) / 1e9
            having = total(text, "rdma_flow_state_seconds_total", state=state)
            if abs(having - time) > 1e-6 * max(time, 1):
                failures.append(f"{capture.name}: state {state} is {having} s, but flows says {time} s")
    return failures


class Sums(unittest.TestCase):
    def check(self, interval_ms):
        def one(capture):
            flows = json.loads(run(BINARY, "flows", "--json", "-r", capture).stdout)["flows"]
            return adds_up(capture, totals("text", capture, interval_ms), flows, exact=interval_ms == 0)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failures = [failure for found in pool.map(one, captures()) for failure in found]
        self.assertEqual(failures, [])

    def test_a_capture_at_once_gives_the_figures_of_flows(self):
        self.check(0)

    def test_a_capture_in_intervals_gives_the_figures_of_flows(self):
        self.check(20)


class Truth(unittest.TestCase):
    def test_messages_and_octets_are_those_that_the_applications_reported(self):
        exceptions, failures, compared = truth.Exceptions(), [], 0
        for name, (path, about) in expected.captures().items():
            if not all(node["ip"].startswith("192.0.2.") for node in about["nodes"].values()):
                continue
            text = totals("text", path, 100)
            peers = {labels.get("peer") for _, labels, _ in samples(text)} - {None}
            # The program takes 192.0.2.1 to be this machine.
            nodes = {about["nodes"][node]["ip"]: node for node in about["nodes"]}
            if peers - {"192.0.2.2"} or set(nodes) != {"192.0.2.1", "192.0.2.2"}:
                continue
            directions = {"transmit": nodes["192.0.2.1"], "receive": nodes["192.0.2.2"]}
            for figure, words in expected.words(path, about).items():
                kind, *rest = figure.split("/")
                series = {"messages": "rdma_messages_total", "bytes": "rdma_message_bytes_total"}.get(kind)
                if series is None or rest[0] not in OPERATIONS:
                    continue
                direction = next((way for way, node in directions.items() if node == rest[1]), None)
                having = total(text, series, op=rest[0], direction=direction) or 0
                compared += 1
                heard = [word for word in words if word is words[-1] or word.agrees(words[-1].least)]
                if not all(word.agrees(having) for word in heard) and not exceptions.excuse(name, figure, "flows"):
                    failures.append(f"{name}: {figure}: expected {heard[0]}, exported {having}")
        self.assertEqual(failures, [])
        self.assertGreater(compared, 300)


class Growth(unittest.TestCase):
    def test_no_counter_goes_back_or_away(self):
        kinds = table()
        for name in ("rxe-rxdrop1pct-write-bw.pcap.gz", "siw-loss1pct-send-bw.pcap", "rxe-verbs-rnr.pcap",
                     "rxe-read-bw-4k.pcap.gz", "siw-reorder-write-bw.pcap.gz", "made-pause.pcap"):
            path = PCAPS / name
            before, steps = {}, totals("steps", path, 10).split("# ----\n")[:-1]
            for text in steps:
                now = {(sample, tuple(labels.items())): value for sample, labels, value in samples(text)}
                for key, value in before.items():
                    name, kind = key[0], kinds.get(key[0])
                    if kind is not None and kind.type == "gauge":
                        continue
                    self.assertGreaterEqual(now.get(key, -1), value, f"{path.name}: {key}")
                before = now
            self.assertTrue(before, path.name)


class Format(unittest.TestCase):
    CAPTURES = ["rxe-rxdrop1pct-write-bw.pcap.gz", "rxe-verbs-rnr.pcap", "made-pause.pcap", "made-cm.pcap",
                "demo-loopback.pcap.gz", "iser-siw-refused.pcap", "made-infiniband.pcap", "nvme-rdma-rxe.pcap.gz", "nfs-rdma-rxe.pcap"]

    @needs("promtool")
    def test_promtool_accepts_all_that_is_exported(self):
        for name in self.CAPTURES:
            with self.subTest(capture=name):
                result = run(program("promtool"), "check", "metrics", input=totals("text", PCAPS / name, 0))
                self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def test_every_sample_is_declared_with_its_labels(self):
        known, seen = table(), set()
        for name in self.CAPTURES:
            for sample, labels, _ in samples(totals("text", PCAPS / name, 0, 10 ** 11)):
                base = sample
                for suffix in ("_bucket", "_sum", "_count"):
                    if sample.endswith(suffix) and known.get(sample[:-len(suffix)], None):
                        base = sample[:-len(suffix)]
                self.assertIn(base, known)
                self.assertEqual([label for label in labels if label != "le"], known[base].labels, sample)
                self.assertNotIn("qp", "".join(labels).lower())
                seen.add(base)
        # What no capture here shows would be a name without a test. Those of the policy need rules: live.daemon has them.
        # Those of a subnet need one: fabric.daemon has them.
        of_subnet = {name for name in known if name.startswith(("rdma_fabric_", "rdmascope_fabric_"))}
        # Gauges of paths are of the last interval, which is empty here: a unit test has them.
        of_rules = {name for name in known if name.startswith("rdmascope_policy_")}
        of_interval = {"rdma_path_entropies", "rdma_path_effective_entropies", "rdma_path_busiest_ratio"}
        self.assertEqual(set(known) - seen, of_interval | of_rules | of_subnet)
        self.assertEqual(len(of_rules), 4)
        self.assertEqual(len(of_subnet), 16)

    def test_pauses_hold_as_long_as_flows_says(self):
        pauses = PCAPS / "made-pause.pcap"
        self.assertIsNone(total(totals("text", pauses, 0), "rdma_pause_seconds_total"), "the link's rate is not known")
        found = json.loads(run(BINARY, "flows", "--json", "--link-rate", "1G", "-r", pauses).stdout)["pauses"][0]
        held = {"global": found["pause_ns"], **{str(i): ns for i, ns in enumerate(found["priority_ns"])}}
        self.assertGreater(held["3"], 0)
        text = totals("text", pauses, 0, 10 ** 9)
        for priority, ns in held.items():
            self.assertAlmostEqual(total(text, "rdma_pause_seconds_total", priority=priority), ns / 1e9, msg=priority)

    def test_buckets_are_powers_of_two_and_grow(self):
        text = totals("text", PCAPS / "rxe-rxdrop1pct-write-bw.pcap.gz", 0)
        rows = {}
        for name, labels, value in samples(text):
            if name == "rdma_message_latency_seconds_bucket":
                le = float(labels.pop("le").replace("Inf", "inf"))
                rows.setdefault(tuple(labels.items()), []).append((le, value))
        self.assertTrue(rows)
        for labels, row in rows.items():
            self.assertEqual([le for le, _ in row], [2.0 ** power for power in range(-20, 5)] + [float("inf")])
            self.assertEqual([value for _, value in row], sorted(value for _, value in row))

    def test_what_the_traffic_cannot_tell_has_no_series(self):
        iwarp = totals("text", PCAPS / "demo-loopback.pcap.gz", 0)
        self.assertIsNone(total(iwarp, "rdma_naks_total", transport="iwarp"))
        self.assertIsNotNone(total(iwarp, "rdma_tcp_segments_total", transport="iwarp"))
        roce = totals("text", PCAPS / "rxe-verbs-rnr.pcap", 0)
        self.assertIsNone(total(roce, "rdma_tcp_segments_total"))
        self.assertIsNone(total(roce, "rdma_pause_frames_total"))


def manual_list():
    text = BEGIN
    for series in table().values():
        labels = f" {{{', '.join(series.labels)}}}" if series.labels else ""
        unit = f", {series.unit}" if series.unit else ""
        text += f".TP\n.B {series.name}{labels}\n{series.type}{unit}. {series.help}\n"
    return (text + END).replace("-", "\\-").replace("written by tests/prometheus/test_series.py \\-\\-update",
                                                    "written by tests/prometheus/test_series.py --update")


class Manual(unittest.TestCase):
    def test_the_manual_lists_the_table(self):
        self.assertIn(manual_list(), MANUAL.read_text(), "run tests/prometheus/test_series.py --update")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        page = MANUAL.read_text()
        MANUAL.write_text(page[:page.index(BEGIN)] + manual_list() + page[page.index(END) + len(END):])
    else:
        unittest.main()
