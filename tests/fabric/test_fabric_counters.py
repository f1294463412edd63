"""Counters of ports that the simulator's console sets, against perfquery, and what `fabric why` makes of them."""
import json
import re
import subprocess
import time
import unittest

from simulator import BINARY, Subnet, example, findings, needs_simulator

# Our name, the console's attribute and field, the value, and the finding that a value makes if it does.
ERRORS = [
    ("symbol_errors", "SymbolErrorCounter", 12, "symbol_errors"),
    ("link_recoveries", "LinkErrorRecoveryCounter", 3, "link_recoveries"),
    ("link_downed", "LinkDownedCounter", 2, "link_downed"),
    ("receive_errors", "PortRcvErrors", 7, "receive_errors"),
    ("receive_remote_errors", "PortRcvRemotePhysicalErrors", 5, None),
    ("receive_relay_errors", "PortRcvSwitchRelayErrors", 6, None),
    ("transmit_discards", "PortXmitDiscards", 17, "discards"),
    ("transmit_constraint_errors", "PortXmitConstraintErrors", 8, "p_key_violations"),
    ("receive_constraint_errors", "PortRcvConstraintErrors", 9, "p_key_violations"),
    ("integrity_errors", "LocalLinkIntegrityErrors", 4, "integrity_errors"),
    ("buffer_overruns", "ExcessiveBufferOverrunErrors", 11, "buffer_overruns"),
    ("vl15_dropped", "VL15Dropped", 13, "management_drops"),
]
# perfquery's words for what it prints of PortCounters and PortCountersExtended.
PERFQUERY = {name: field for name, field, *_ in ERRORS} | {"transmit_wait": "PortXmitWait"}


@needs_simulator
class Counters(Subnet):
    def setUp(self):
        super().setUp()
        self.simulator = self.simulate(example("net.2sw2path4hca"))
        self.simulator.start_manager("Hca1")

    def set(self, node, port, field, value, attribute="PortCounters"):
        self.simulator.console(f'PerformanceSet "{node}"[{port}] {attribute}.{field}={value}')

    def counters(self, document, name, port):
        guid = next(node["guid"] for node in document["nodes"] if node["name"] == name)
        for link in document["links"]:
            for side in ("from", "to"):
                if (link[side]["guid"], link[side]["port"]) == (guid, port):
                    return link["counters"][side], link["later_counters"][side], link["per_sec"][side]
        raise AssertionError(f"{name} port {port} has no link")

    def test_every_port_is_as_perfquery_reads_it(self):
        for number, (_, field, value, _) in enumerate(ERRORS):
            self.set("Switch1", 3 if number % 2 else 5, field, value)
        self.set("Hca3", 1, "SymbolErrorCounter", 65535)
        document = self.read(self.simulator, host="Hca2")
        lids = {node["guid"]: node["lid"] for node in document["nodes"]}
        compared = 0
        for link in document["links"]:
            for side in ("from", "to"):
                counters = link["counters"][side]
                text = self.simulator.output_of("perfquery", lids[link[side]["guid"]], link[side]["port"], host="Hca2")
                theirs = {name: int(value) for name, value in re.findall(r"(?m)^(\w+):\.+(\d+)$", text)}
                for ours, field in PERFQUERY.items():
                    self.assertEqual(counters[ours], theirs[field], f"{link[side]} {field}")
                    compared += theirs[field] != 0
        self.assertEqual(compared, len(ERRORS) + 1)

    def test_data_is_as_perfquery_reads_it(self):
        """Nothing but our own datagrams and the manager's are sent; a port without them keeps what the console sets."""
        for node in ("Hca4", "Switch2"):
            port = 1 if node == "Hca4" else 2
            for field, value in (("PortXmitData", 1_000_000), ("PortRcvData", 2_000_000_000), ("PortXmitPkts", 3333),
                                 ("PortRcvPkts", 4_000_000)):
                self.set(node, port, field, value)
        document = self.read(self.simulator, host="Hca2")
        counters, _, _ = self.counters(document, "Hca4", 1)
        lid = next(node["lid"] for node in document["nodes"] if node["name"] == "Hca4")
        text = self.simulator.output_of("perfquery", "-x", lid, 1, host="Hca2")
        theirs = {name: int(value) for name, value in re.findall(r"(?m)^(\w+):\.+(\d+)$", text)}
        # Each question adds one datagram of 72 words to what the port received and sent.
        for ours, field in (("transmit_bytes", "PortXmitData"), ("receive_bytes", "PortRcvData")):
            self.assertLess(theirs[field] * 4 - counters[ours], 100 * 72 * 4)
            self.assertGreaterEqual(theirs[field] * 4, counters[ours])
        for ours, field in (("transmit_packets", "PortXmitPkts"), ("receive_packets", "PortRcvPkts")):
            self.assertLess(theirs[field] - counters[ours], 100)
            self.assertGreaterEqual(theirs[field], counters[ours])

    def test_each_counter_that_counts_is_a_finding_with_both_ends(self):
        before = {one for one in findings(self.read(self.simulator, host="Hca2")) if not one[0].endswith("degraded")}
        self.assertEqual(before, set())
        for name, field, value, kind in ERRORS:
            with self.subTest(name):
                self.set("Switch1", 5, field, value)
                found = {one for one in findings(self.read(self.simulator, host="Hca2")) if not one[0].endswith("degraded")}
                self.assertEqual(found, {(kind, "suspected", "Switch1", "Switch2")} if kind else set())
                page = self.succeeds(self.simulator.rdmascope("why", host="Hca2"))
                if kind:
                    self.assertRegex(page, rf"(?m)^suspected {kind}\n  Switch1 port 5 \(lid 2\) - Switch2 port 5 \(lid 3\): {field} is {value}: ")
                self.set("Switch1", 5, field, 0)

    def test_a_counter_at_its_limit_says_so(self):
        self.set("Switch1", 5, "SymbolErrorCounter", 65535)
        page = self.succeeds(self.simulator.rdmascope("why", host="Hca2"))
        self.assertIn("SymbolErrorCounter is 65,535, its limit: ", page)
        counters, _, _ = self.counters(self.read(self.simulator, host="Hca2"), "Switch1", 5)
        self.assertEqual(counters["at_limit"], ["symbol_errors"])

    def test_growth_between_two_readings(self):
        """The console sets the counters while the command waits for its second reading."""
        self.set("Switch1", 5, "LinkDownedCounter", 4)
        self.set("Switch1", 3, "SymbolErrorCounter", 100)
        command = subprocess.Popen([BINARY, "fabric", "--json", "--interval", "2s"], text=True, stdout=subprocess.PIPE,
                                   env=self.simulator.environment("Hca2", preload=True))
        time.sleep(1)
        self.set("Switch1", 3, "SymbolErrorCounter", 160)
        self.set("Switch2", 2, "PortXmitWait", 5_000_000)
        document = json.loads(command.communicate(timeout=60)[0])
        before, after, rate = self.counters(document, "Switch1", 3)
        self.assertEqual((before["symbol_errors"], after["symbol_errors"]), (100, 160))
        seconds = (after["time_ns"] - before["time_ns"]) / 1e9
        self.assertAlmostEqual(rate["symbol_errors"], 60 / seconds, places=6)
        self.assertGreater(seconds, 2)
        found = {one for one in findings(document) if not one[0].endswith("degraded")}
        # A link that went down before the first reading is no news.
        self.assertEqual(found, {("symbol_errors", "wrong", "Switch1", "Switch2"), ("congestion", "minor", "Switch2", "Hca4")})
        self.assertEqual(self.simulator.rdmascope("why", "--fail-on", "wrong", host="Hca2").returncode, 0)
        self.assertEqual(self.simulator.rdmascope("why", "--fail-on", "suspected", host="Hca2").returncode, 3)

    def test_counters_that_were_not_read_are_not_called_good(self):
        path = self.folder / "bare.json"
        path.write_text(self.succeeds(self.simulator.rdmascope("--json", "--no-counters", host="Hca2")))
        self.assertEqual(self.succeeds(self.simulator.rdmascope("--counters", "-r", path)), "no counters were read\n")
        same = self.succeeds(self.simulator.rdmascope("--diff", path, path))
        self.assertEqual(same, "OK: nothing changed; counters were not read both times.\n")
        document = json.loads(path.read_text())
        for node in document["nodes"]:
            for port in node["ports"]:
                port["widths_supported"], port["speeds_supported"] = [port["width"] or "4X"], [port["speed"] or "SDR"]
        path.write_text(json.dumps(document))
        self.assertEqual(self.succeeds(self.simulator.rdmascope("why", "-r", path)),
                         "OK: no link is degraded; counters were not read.\n")

    def test_the_list_has_each_counter_on_a_line(self):
        self.set("Switch1", 5, "PortXmitDiscards", 17)
        page = self.succeeds(self.simulator.rdmascope("--counters", host="Hca2"))
        self.assertRegex(page, r"(?m)^Switch1 +5 +transmit_discards +17 +-$")
        self.assertNotIn("symbol_errors", page)


if __name__ == "__main__":
    unittest.main()
