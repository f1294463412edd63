"""`why --fabric`: what the simulator's console set on a link is evidence for the flow whose hosts are there."""
import json
import os
import pathlib
import subprocess
import unittest

from simulator import BINARY, Subnet, example, needs_simulator

# One flow from LID 3 to LID 4 with a bad VCRC, another one between LIDs 6098 and 14172.
CAPTURE = pathlib.Path(os.environ["RDMASCOPE_PCAPS"]) / "made-infiniband.pcap"


@needs_simulator
class Evidence(Subnet):
    def setUp(self):
        super().setUp()
        self.simulator = self.simulate(example("net.2sw2path4hca"))
        self.simulator.start_manager("Hca1")

    def why(self, *options, status=0):
        result = subprocess.run([BINARY, "why", "-n", "--json", "-r", str(CAPTURE), *map(str, options)], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def corruption(self, *options):
        answers = json.loads(self.why(*options).stdout)["answers"]
        return next(one for one in answers if one["verdict"] == "corruption")

    def subnet(self):
        path = self.folder / "subnet.json"
        path.write_text(json.dumps(self.read(self.simulator, host="Hca2")))
        return path

    def ends_of_lid(self, document, lid):
        """The ends of the link of the adapter's port that has the LID: of both, the node's name and the port."""
        names = {node["guid"]: node["name"] for node in document["nodes"]}
        owners = {(node["guid"], port["number"]) for node in document["nodes"] for port in node["ports"] if port["lid"] == lid}
        for link in document["links"]:
            ends = [(link[side]["guid"], link[side]["port"]) for side in ("from", "to")]
            if owners & set(ends):
                return [(names[guid], port) for guid, port in ends]
        raise AssertionError(f"no link of LID {lid}")

    def test_errors_of_the_link_are_named(self):
        document = json.loads(self.subnet().read_text())
        ends = self.ends_of_lid(document, 4)
        node, port = ends[0]
        self.simulator.console(f'PerformanceSet "{node}"[{port}] PortCounters.SymbolErrorCounter=123')
        plain = self.corruption()
        evidence = self.corruption("--fabric", self.subnet())["evidence"]
        more = [one for one in evidence if one not in plain["evidence"]]
        found = [one for one in more if one["what"].startswith("SymbolErrorCounter")]
        self.assertEqual([one["value"] for one in found], [123], more)
        for name, number in ends:
            self.assertIn(name, found[0]["what"])
            self.assertIn(f"port {number}", found[0]["what"])

    def test_errors_elsewhere_are_counted_and_no_more(self):
        document = json.loads(self.subnet().read_text())
        near = self.ends_of_lid(document, 4)  # LID 3 is a switch, whose own port has no link
        names = {node["guid"]: node["name"] for node in document["nodes"]}
        far = next((names[link["from"]["guid"]], link["from"]["port"]) for link in document["links"]
                   if not {(names[link[side]["guid"]], link[side]["port"]) for side in ("from", "to")} & set(near))
        self.simulator.console(f'PerformanceSet "{far[0]}"[{far[1]}] PortCounters.SymbolErrorCounter=77')
        evidence = self.corruption("--fabric", self.subnet())["evidence"]
        self.assertFalse([one for one in evidence if one["what"].startswith("SymbolErrorCounter")])
        self.assertEqual([one["value"] for one in evidence if "elsewhere" in one["what"]], [1], evidence)

    def test_what_cannot_cause_a_loss_is_no_evidence(self):
        # The simulator's links are narrower than they could be, and XmitWait is congestion: neither damages packets.
        document = json.loads(self.subnet().read_text())
        node, port = self.ends_of_lid(document, 4)[0]
        self.simulator.console(f'PerformanceSet "{node}"[{port}] PortCounters.PortXmitWait=999999')
        self.assertEqual(self.corruption("--fabric", self.subnet())["evidence"], self.corruption()["evidence"])

    def test_a_subnet_without_the_lids_says_so(self):
        path = self.subnet()
        document = json.loads(path.read_text())
        for node in document["nodes"]:
            for part in (node, *node["ports"]):
                part["lid"] = part["lid"] and part["lid"] + 100
        path.write_text(json.dumps(document))
        result = self.why("--fabric", path)
        self.assertIn("none of their LIDs", result.stderr)
        self.assertEqual(json.loads(result.stdout)["answers"], json.loads(self.why().stdout)["answers"])

    def test_files_that_cannot_be_used(self):
        missing = self.folder / "missing.json"
        self.assertIn(str(missing), self.why("--fabric", missing, status=1).stderr)
        other = self.folder / "other.json"
        other.write_text("{}")
        self.assertIn(str(other), self.why("--fabric", other, status=1).stderr)
        diff = subprocess.run([BINARY, "why", "--diff", str(CAPTURE), str(CAPTURE), "--fabric", str(other)], capture_output=True,
                              text=True, check=False)
        self.assertEqual(diff.returncode, 2)


if __name__ == "__main__":
    unittest.main()
