"""Nodes, links, LIDs and routes of simulated subnets, against ibnetdiscover, saquery, smpquery, iblinkinfo and ibtracert."""
import json
import re
import unittest

from simulator import EXAMPLES, Subnet, example, fat_tree, findings, links_of, links_of_ibnetdiscover, needs_simulator

RATES = """Switch 4 "leaf"
[1] "narrow"[1] w=1
[2] "fast"[1] # "fast" lid 3 4xHDR
[3] "quad"[1] s=4
[4] "plain"[1]

Hca 1 "narrow"
[1] "leaf"[1] w=1

Hca 1 "fast"
[1] "leaf"[2] # lid 3 lmc 0 "leaf" lid 4 4xHDR

Hca 1 "quad"
[1] "leaf"[3] s=4

Hca 1 "plain"
[1] "leaf"[4]

"""

# An adapter whose ports belong to two subnets, which give the same LIDs.
TWO_SUBNETS = """Switch 4 "left"
[1] "host1"[1]
[2] "both"[1]

Switch 4 "right"
[1] "host2"[1]
[2] "both"[2]

Hca 1 "host1"
[1] "left"[1]

Hca 1 "host2"
[1] "right"[1]

Hca 2 "both"
[1] "left"[2]
[2] "right"[2]

"""

# An adapter with both ports in one subnet.
TWO_PORTS = """Switch 4 "near"
[1] "host1"[1]
[2] "both"[1]
[3] "far"[3]

Switch 4 "far"
[2] "both"[2]
[3] "near"[3]

Hca 1 "host1"
[1] "near"[1]

Hca 2 "both"
[1] "near"[2]
[2] "far"[2]

"""


def first_host(net):
    return re.search(r'^Hca\s+\d+\s+"([^"]+)"', net, re.M)[1]


def node_record(simulator, lid, host):
    """Type, GUID and description, as the subnet manager has them for a LID. ibsim carries no answer of several segments."""
    text = simulator.output_of("saquery", "NR", lid, host=host)
    field = dict(re.findall(r"(\w+)\.{2,}(.*)", text))
    kind = {"Channel Adapter": "adapter", "Switch": "switch"}[field["node_type"].strip()]
    return kind, int(field["node_guid"], 16), field["NodeDescription"]


@needs_simulator
class Topology(Subnet):
    def compare(self, simulator, host):
        document = self.read(simulator, host=host)
        self.assertEqual(document["unanswered"], [])
        theirs = links_of_ibnetdiscover(simulator.output_of("ibnetdiscover", host=host))
        self.assertTrue(theirs)
        self.assertEqual(links_of(document), theirs)
        every = max(1, len(document["nodes"]) // 20)
        for node in document["nodes"][::every]:
            record = node_record(simulator, node["lid"], host)
            self.assertEqual((node["type"], int(node["guid"], 16), node["description"]), record)
            lids = simulator.output_of("smpquery", "portinfo", node["lid"], next(p["number"] for p in node["ports"] if p["lid"] == node["lid"]),
                                           host=host)
            self.assertEqual(int(re.search(r"\nLid:\.+(\d+)", lids)[1]), node["lid"])
        return document

    def test_the_examples_of_the_package(self):
        for path in sorted(EXAMPLES.glob("net*")):
            with self.subTest(path.name):
                self.setUp()
                simulator = self.simulate(example(path.name))
                host = first_host(example(path.name))
                simulator.start_manager(host)
                self.compare(simulator, host)

    def test_a_fat_tree_of_648_nodes(self):
        simulator = self.simulate(fat_tree())
        simulator.start_manager("host000")
        document = self.compare(simulator, "host100")
        self.assertEqual(len(document["nodes"]), 648 + 36 + 18)
        self.assertEqual(len(document["links"]), 648 + 36 * 18)
        self.assertTrue(all(link["counters"]["from"] and link["counters"]["to"] for link in document["links"]))

    def test_without_a_subnet_manager(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        document = self.read(simulator, host="Hca2")
        theirs = links_of_ibnetdiscover(simulator.output_of("ibnetdiscover", host="Hca2"))
        self.assertEqual(links_of(document), theirs)
        self.assertEqual({node["lid"] for node in document["nodes"]}, {None})
        kinds = {kind for kind, *_ in findings(document)}
        self.assertIn("no_manager", kinds)
        self.assertIn("link_inactive", kinds)

    def test_rates_are_those_of_iblinkinfo(self):
        simulator = self.simulate(RATES)
        simulator.start_manager("narrow")
        document = self.compare(simulator, "plain")
        names = {"2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "53.125": "HDR"}
        theirs = {}
        for line in simulator.output_of("iblinkinfo", host="plain").splitlines():
            found = re.match(r'.*==\(\s*(\d+X)\s+([\d.]+) Gbps .*\)==>\s+\d+\s+\d+\[ *\] "(\w+)" \((.*)\)', line)
            if not found or found[3] == "leaf":
                continue
            width = re.search(r"Could be (\d+X)", found[4])
            speed = re.search(r"Could be ([\d.]+) Gbps", found[4])
            theirs[found[3]] = (found[1], names[found[2]], width[1] if width else found[1],
                                names[speed[1]] if speed else names[found[2]])
        self.assertEqual(set(theirs), {"narrow", "fast", "quad", "plain"})
        names = {node["guid"]: node["name"] for node in document["nodes"]}
        ours = {names[link["from"]["guid"]]: (link["width"], link["speed"], link["best_width"], link["best_speed"])
                for link in document["links"]}
        self.assertEqual(ours, theirs)
        degraded = {(kind, at) for kind, _, at, _ in findings(document)}
        self.assertIn(("width_degraded", "narrow"), degraded)
        self.assertIn(("speed_degraded", "plain"), degraded)
        self.assertNotIn(("speed_degraded", "fast"), degraded)
        # Ports are at what they are configured for: that is no fault of a cable.
        self.assertEqual({grade for kind, grade, *_ in findings(document) if kind.endswith("degraded")}, {"minor"})

    def test_routes_are_those_of_ibtracert(self):
        simulator = self.simulate(fat_tree(leaves=4, spines=2, hosts_per_leaf=3))
        simulator.start_manager("host000")
        document = self.read(simulator, host="host001")
        lids = {node["name"]: node["lid"] for node in document["nodes"]}
        for start, end in (("host000", "host001"), ("host000", "host011"), ("host007", "host003"), ("leaf00", "host011"),
                           ("host004", "spine01"), ("host005", "host005")):
            with self.subTest(f"{start} > {end}"):
                route = self.read_route(simulator, start, end)
                hops = [(int(hop["from"]["guid"], 16), hop["from"]["port"], int(hop["to"]["guid"], 16)) for hop in route["hops"]]
                text = simulator.output_of("ibtracert", lids[start], lids[end], host="host001")
                theirs = re.findall(r"^\[(\d+)\] -> \w+ port \{0x([0-9a-f]+)\}\[(\d+)\]", text, re.M)
                self.assertEqual([out for _, out, _ in hops], [int(out) for out, _, _ in theirs])
                self.assertIsNone(route["broken"])
        by_lid = self.read_route(simulator, str(lids["host000"]), str(lids["host011"]))
        by_guid = self.read_route(simulator, "host000", next(n["guid"] for n in document["nodes"] if n["name"] == "host011"))
        self.assertEqual(by_lid, by_guid)

    def test_the_other_port_of_an_adapter_is_in_another_subnet(self):
        simulator = self.simulate(TWO_SUBNETS)
        both = {}
        for host in ("host1", "host2"):
            simulator.start_manager(host)
        for host in ("host1", "host2"):
            document = self.compare(simulator, host)
            self.assertEqual([manager["state"] for manager in document["sm"]], ["master"])
            self.assertNotIn("lid_twice", {kind for kind, *_ in findings(document)})
            both[host] = next(node for node in document["nodes"] if node["name"] == "both")
        self.assertEqual({host: [port["number"] for port in node["ports"]] for host, node in both.items()},
                         {"host1": [1], "host2": [2]})
        # Without that, the test would show nothing.
        self.assertEqual(both["host1"]["lid"], both["host2"]["lid"])

    def test_routes_to_each_port_of_an_adapter(self):
        simulator = self.simulate(TWO_PORTS)
        simulator.start_manager("host1")
        document = self.compare(simulator, "host1")
        both = next(node for node in document["nodes"] if node["name"] == "both")
        host = next(node["lid"] for node in document["nodes"] if node["name"] == "host1")
        first, second = (port["lid"] for port in both["ports"])
        for start, end in ((host, first), (host, second), (first, second), (second, first)):
            with self.subTest(f"{start} > {end}"):
                self.compare_routes(simulator, start, end, "host1")

    def test_routes_to_each_lid_of_a_port(self):
        """With an LMC of 1, each port has two LIDs, and the paths to them differ."""
        simulator = self.simulate(fat_tree(leaves=4, spines=2, hosts_per_leaf=3))
        simulator.start_manager("host000", lmc=1)
        document = self.read(simulator, host="host001")
        lids = {node["name"]: node["lid"] for node in document["nodes"]}
        routes = [self.compare_routes(simulator, lids["host000"], lids["host011"] + more, "host001") for more in (0, 1)]
        self.assertNotEqual(*routes)

    def test_a_route_without_a_subnet_manager(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        result = simulator.rdmascope("route", "Hca1", "Hca4", host="Hca2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the destination has no LID: no subnet manager has configured it", result.stdout)

    def compare_routes(self, simulator, start, end, host):
        """Our route against ibtracert's; returns the GUIDs on the way."""
        route = json.loads(self.succeeds(simulator.rdmascope("route", start, end, "--json", host=host)))
        self.assertEqual((route["lid"], route["broken"]), (end, None))
        text = simulator.output_of("ibtracert", start, end, host=host)
        theirs = re.findall(r"^\[(\d+)\] -> \w+ port \{0x([0-9a-f]+)\}\[(\d+)\]", text, re.M)
        self.assertEqual([(hop["from"]["port"], hop["to"]["port"]) for hop in route["hops"]],
                         [(int(out), int(into)) for out, _, into in theirs])
        return [hop["to"]["guid"] for hop in route["hops"]]

    def read_route(self, simulator, start, end):
        return json.loads(self.succeeds(simulator.rdmascope("route", start, end, "--json", host="host001")))

    def test_names_from_a_file(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        names = self.folder / "names"
        names.write_text('# ours\n0x200000 "spine 1"  # row 4\n0x0000000000100006 "db7"\n')
        document = self.read(simulator, "--node-names", names, host="Hca2")
        self.assertEqual({node["name"] for node in document["nodes"]}, {"spine 1", "Switch2", "Hca1", "Hca2", "db7", "Hca4"})
        theirs = simulator.output_of("ibnetdiscover", "--node-name-map", names, host="Hca2")
        self.assertIn('"spine 1"', theirs)
        page = self.succeeds(simulator.rdmascope("--node-names", names, host="Hca2"))
        self.assertRegex(page, r"(?m)^db7 +1 +spine 1 +2 ")
        numbers = self.succeeds(simulator.rdmascope("-n", "--node-names", names, host="Hca2"))
        self.assertNotIn("db7", numbers)
        self.assertIn("0x0000000000100006", numbers)

    def test_dot_has_each_node_and_link_once(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        text = self.succeeds(simulator.rdmascope("--dot", host="Hca2"))
        self.assertEqual(len(re.findall(r"(?m)^  \"0x\w+\" \[label=", text)), 6)
        edges = set()
        for one, other, tail, head in re.findall(r'"0x(\w+)" -- "0x(\w+)" \[taillabel="(\d+)", headlabel="(\d+)"', text):
            edges.add(frozenset(((int(one, 16), int(tail)), (int(other, 16), int(head)))))
        self.assertEqual(edges, set(links_of_ibnetdiscover(simulator.output_of("ibnetdiscover", host="Hca2"))))


if __name__ == "__main__":
    unittest.main()
