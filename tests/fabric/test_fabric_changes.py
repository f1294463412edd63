"""What happens to a subnet: lost cables and hosts, new links and LIDs, managers that take over or fight, silent nodes."""
import json
import time
import unittest

from simulator import Subnet, example, findings, fat_tree, needs_simulator, wait_for


def kinds(found):
    """Findings except those of every simulated link, whose ports could be faster."""
    return {one for one in found if not one[0].endswith("degraded")}


@needs_simulator
class Changes(Subnet):
    def save(self, simulator, name, host="Hca2"):
        path = self.folder / name
        path.write_text(self.succeeds(simulator.rdmascope("--json", host=host)))
        return path

    def changes(self, simulator, *files, host="Hca2"):
        return kinds(findings(json.loads(self.succeeds(simulator.rdmascope("--diff", "--json", *files, host=host)))))

    def managers(self, document):
        return {node["name"]: (manager["state"], manager["priority"]) for manager in document["sm"]
                for node in document["nodes"] if node["guid"] == manager["port"]["guid"]}

    def test_nothing(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        old = self.save(simulator, "old.json")
        self.assertEqual(self.changes(simulator, old), set())
        self.assertIn("OK: nothing changed", self.succeeds(simulator.rdmascope("--diff", old, host="Hca2")))

    def test_a_lost_cable_a_new_one_and_a_lost_host(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        old = self.save(simulator, "old.json")
        simulator.console('Unlink "Switch1"[3]')
        self.assertEqual(self.changes(simulator, old), {("link_lost", "wrong", "Switch1", "Switch2")})
        simulator.console('Unlink "Hca4"')
        simulator.console('Link "Switch1"[7] "Switch2"[8]')
        new = self.save(simulator, "new.json")
        expected = {("link_lost", "wrong", "Switch1", "Switch2"), ("link_lost", "wrong", "Hca4", "Switch2"),
                    ("node_lost", "wrong", "Hca4", None), ("link_new", "note", "Switch1", "Switch2")}
        self.assertEqual(self.changes(simulator, old, new), expected)
        # The other way round, what was lost is new.
        self.assertEqual({kind for kind, *_ in self.changes(simulator, new, old)}, {"node_new", "link_new", "link_lost"})
        self.succeeds(simulator.rdmascope("--diff", "--fail-on", "wrong", old, new, host="Hca2"), status=3)
        page = self.succeeds(simulator.rdmascope("--diff", old, new, host="Hca2"))
        self.assertRegex(page, r"wrong node_lost\n  Hca4 \(lid \d+\): the node is no longer reached")

    def test_counters_that_grew_between_two_files(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        simulator.console('PerformanceSet "Switch1"[5] PortCounters.SymbolErrorCounter=10')
        old = self.save(simulator, "old.json")
        simulator.console('PerformanceSet "Switch1"[5] PortCounters.SymbolErrorCounter=25')
        new = self.save(simulator, "new.json")
        document = json.loads(self.succeeds(simulator.rdmascope("--diff", "--json", old, new)))
        grown = [one["evidence"] for one in document["findings"] if one["kind"] == "symbol_errors"]
        self.assertEqual(grown, [[{"what": "symbol_errors", "value": 25, "at_limit": False, "grown": 15}]])

    def test_a_file_says_what_the_subnet_said(self):
        simulator = self.simulate(fat_tree(leaves=4, spines=2, hosts_per_leaf=3))
        simulator.start_manager("host000")
        for arguments in ((), ("why",), ("--dot",)):
            path = self.save(simulator, "now.json", host="host004")
            live = self.succeeds(simulator.rdmascope(*arguments, host="host004"))
            # Our own datagrams are counted too, but no error is.
            self.assertEqual(self.succeeds(simulator.rdmascope(*arguments, "-r", path)), live)
        again = json.loads(self.succeeds(simulator.rdmascope("--json", "-r", path)))
        self.assertEqual(again, json.loads(path.read_text()))

    def test_another_manager_takes_over(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        first = simulator.start_manager("Hca1", priority=9)
        second = simulator.start_manager("Hca3", priority=5, wait="Entering STANDBY")
        wait_for(lambda: self.managers(self.read(simulator, host="Hca2")) == {"Hca1": ("master", 9), "Hca3": ("standby", 5)},
                 "both managers are found")
        self.assertIn("priority 9 state 3 SMINFO_MASTER", simulator.output_of("sminfo", host="Hca2"))
        old = self.save(simulator, "old.json")
        self.assertNotIn("two_managers", {kind for kind, *_ in findings(json.loads(old.read_text()))})
        simulator.end(first)
        simulator.wait_for_manager(second, "Entering MASTER")
        wait_for(lambda: self.managers(self.read(simulator, host="Hca2")) == {"Hca3": ("master", 5)}, "the second is master")
        self.assertIn("priority 5 state 3 SMINFO_MASTER", simulator.output_of("sminfo", host="Hca2"))
        self.assertIn(("manager_handover", "minor", "Hca3", "Hca1"), self.changes(simulator, old))

    def test_the_manager_is_gone_and_a_link_is_no_longer_active(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        manager = simulator.start_manager("Hca1")
        old = self.save(simulator, "old.json")
        simulator.end(manager)
        wait_for(lambda: not self.read(simulator, host="Hca2")["sm"], "the manager is gone")
        self.assertEqual(self.changes(simulator, old), {("no_manager", "wrong", "Hca1", None)})
        # A link that goes down and comes up again waits for a manager.
        simulator.console('Unlink "Hca4"')
        simulator.console('ReLink "Hca4"')
        self.assertIn(("link_inactive", "wrong", "Hca4", "Switch2"), self.changes(simulator, old))

    def test_two_managers_that_do_not_trust_each_other(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1", priority=5)
        simulator.start_manager("Hca3", priority=9, key="0x1234", wait="Entering MASTER")
        time.sleep(0.5)
        document = self.read(simulator, host="Hca2")
        self.assertEqual(self.managers(document), {"Hca1": ("master", 5), "Hca3": ("master", 9)})
        self.assertIn(("two_managers", "wrong", "Hca1", "Hca3"), findings(document))

    def test_a_lid_that_two_ports_have(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        old = self.save(simulator, "old.json")
        document = json.loads(old.read_text())
        lids = {node["name"]: node["lid"] for node in document["nodes"]}
        simulator.end(simulator.managers.pop())
        simulator.console(f'Baselid "Hca4"[1] {lids["Hca3"]}')
        found = findings(self.read(simulator, host="Hca2"))
        twice = [one for one in found if one[0] == "lid_twice"]
        self.assertEqual([{one[2], one[3]} for one in twice], [{"Hca3", "Hca4"}])
        self.assertIn(("lid_changed", "minor", "Hca4", None), self.changes(simulator, old))

    def test_a_node_that_does_not_answer(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        simulator.console('Error "Hca4"[1] 100')
        document = self.read(simulator, "--timeout", "50ms", "--retries", "0", host="Hca2")
        self.assertNotIn("Hca4", {node["name"] for node in document["nodes"]})
        self.assertEqual(len(document["nodes"]), 5)
        self.assertEqual([one["reason"] for one in document["unanswered"]], ["no answer"])
        self.assertTrue(document["unanswered"][0]["question"].startswith("NodeInfo at the route 0,1,2"))
        self.assertIn("unanswered", {kind for kind, *_ in findings(document)})

    def test_a_route_that_ends_nowhere(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        simulator.end(simulator.managers.pop())
        before = self.succeeds(simulator.rdmascope("route", "Hca1", "Hca4", host="Hca2"))
        self.assertIn("3 hops", before)
        port = next(port for port in (3, 5) if f"Switch1{port:>8}" in before or f"Switch1     {port}" in before)
        simulator.console(f'Unlink "Switch1"[{port}]')
        broken = simulator.rdmascope("route", "Hca1", "Hca4", host="Hca2")
        self.assertEqual(broken.returncode, 1)
        self.assertIn(f"port {port} of 0x0000000000200000 has no link", broken.stdout)


if __name__ == "__main__":
    unittest.main()
