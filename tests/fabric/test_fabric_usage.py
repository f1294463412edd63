"""`rdmascope fabric` on a machine without InfiniBand, with wrong options, and with damaged files."""
import json
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

from simulator import BINARY, Subnet, example, needs_simulator


def fabric(*arguments):
    return subprocess.run([BINARY, "fabric", *map(str, arguments)], text=True, capture_output=True, timeout=60, check=False)


class Usage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-fabric-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fails(self, status, message, *arguments):
        result = fabric(*arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertIn(message, result.stderr)

    @unittest.skipIf(list(pathlib.Path("/sys/class/infiniband_mad").glob("umad*")), "this machine has InfiniBand")
    def test_a_machine_without_a_port(self):
        self.fails(1, "rdmascope fabric: this machine has no InfiniBand port that is active: load the adapter's driver")
        self.fails(1, "mlx5_7 port 2: there is no such InfiniBand port", "--ca", "mlx5_7", "--port", "2")
        self.fails(1, "modprobe ib_umad", "route", "a", "b")

    def test_wrong_options(self):
        for message, *arguments in (("the parts are why and route", "list"),
                                    ("route needs two ends", "route", "one"),
                                    ("--diff needs one or two files", "--diff"),
                                    ("--json and --dot are given", "--json", "--dot"),
                                    ("leave out --no-counters", "--interval", "1s", "--no-counters"),
                                    ("leave out --no-counters", "--counters", "--no-counters"),
                                    ("leave out --interval", "-r", "x", "--interval", "1s"),
                                    ("a file has no forwarding tables", "route", "a", "b", "-r", "x"),
                                    ("--parallel", "--parallel", "0"),
                                    ("wrong, minor or suspected", "--fail-on", "note")):
            self.fails(2, message, *arguments)

    def test_files_that_are_not_ours(self):
        path = self.folder / "file.json"
        self.fails(1, "No such file", "-r", path)
        for text, message in (("", "it is no JSON"), ("[" * 1_000_000, "it is nested more than 16 deep"), ("[1]", "time_ns is missing"), ('{"time_ns": "x"}', "time_ns is not a number"),
                              ('{"time_ns": 1, "adapter": "", "seen_from": null, "nodes": 3}', "nodes is not an array"),
                              ('{"time_ns": 1, "adapter": "", "seen_from": {"guid": "12", "port": 1}}', "guid is not 0x"),
                              ('{"time_ns": 1, "adapter": "", "seen_from": {"guid": "0x12", "port": 300}}', "port is out of its range")):
            path.write_text(text)
            self.fails(1, message, "-r", path)
            self.fails(1, str(path), "-r", path)

    def test_a_file_that_is_too_large(self):
        path = self.folder / "large.json"
        with open(path, "wb") as file:
            file.truncate((1 << 30) + 1)
        self.fails(1, "the file is larger than 1 GiB", "-r", path)

    def test_a_file_of_names_with_mistakes(self):
        path = self.folder / "names"
        path.write_text('0x1 "one"\n0x2 two\n12 "x"\n0x3 "three" four\nlid 7 "seven"\nlid x "x"\n')
        for line in (2, 3, 4, 6):
            self.fails(1, f"{path}:{line}: a GUID or a LID, and a name in quotes, are expected", "--node-names", path)


@needs_simulator
class Damaged(Subnet):
    def test_texts_of_a_file_cannot_move_the_cursor_or_end_a_quotation(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        document = json.loads(self.succeeds(simulator.rdmascope("--json", host="Hca2")))
        hostile = '\x1b[2J\n"]; x -- y [label="\\'
        for node in document["nodes"]:
            node["description"] = hostile
        document["unanswered"] = [{"question": hostile, "reason": hostile}]
        path = self.folder / "hostile.json"
        path.write_text(json.dumps(document))
        for part in ((), ("why",), ("--counters",), ("--dot",)):
            text = self.succeeds(fabric(*part, "-r", path))
            self.assertNotIn("\x1b", text)
            self.assertNotIn('\n"]', text)
        dot = self.succeeds(fabric("--dot", "-r", path))
        quoted = r'"(?:[^"\\\n]|\\.)*"'
        bare = re.sub(quoted, "", dot)
        self.assertNotIn('"', bare)
        self.assertNotIn("x -- y", bare)
        self.assertEqual(json.loads(self.succeeds(fabric("--json", "-r", path)))["nodes"][0]["description"], hostile)
        document["nodes"][0]["type"] = hostile
        path.write_text(json.dumps(document))
        refused = fabric("-r", path)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("type has no such value: \\x1b[2J\\n", refused.stderr)

    def test_an_unknown_width_or_speed_is_refused(self):
        simulator = self.simulate(example("net.2sw2path4hca"))
        good = self.succeeds(simulator.rdmascope("--json", host="Hca2"))
        path = self.folder / "unknown.json"
        for name, value in (("width", "5X"), ("speed", "XYZ"), ("widths_supported", ["4X", "5X"]), ("speeds_enabled", ["XYZ"])):
            document = json.loads(good)
            document["nodes"][0]["ports"][0][name] = value
            path.write_text(json.dumps(document))
            result = fabric("-r", path)
            self.assertEqual(result.returncode, 1, name)
            self.assertIn(f"{name} has no such value: ", result.stderr)

    def test_damaged_files_are_refused_or_read(self):
        """Files with a member removed, or a value of another kind: no crash, and a message if it fails."""
        simulator = self.simulate(example("net.2sw2path4hca"))
        simulator.start_manager("Hca1")
        good = json.loads(self.succeeds(simulator.rdmascope("--json", host="Hca2")))
        random.seed(33)
        path = self.folder / "damaged.json"
        refused = 0
        for _ in range(300):
            document = json.loads(json.dumps(good))
            place = document
            while True:
                key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
                if isinstance(place[key], (dict, list)) and place[key] and random.random() < 0.9:
                    place = place[key]
                    continue
                if random.random() < 0.5:
                    del place[key]
                else:
                    place[key] = random.choice([None, -1, 1 << 70, "x", [], {}, True, 1.5])
                break
            path.write_text(json.dumps(document))
            for part in ((), ("why",)):
                result = fabric(*part, "-r", path)
                self.assertIn(result.returncode, (0, 1), result.stderr)
                if result.returncode == 1:
                    refused += 1
                    self.assertTrue(result.stderr.startswith(f"rdmascope fabric: {path}: "), result.stderr)
        self.assertGreater(refused, 50)


if __name__ == "__main__":
    unittest.main()
