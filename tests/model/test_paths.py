"""`rdmascope paths` and `why` as a user runs them, on traffic over several routes: the model's own counts of each entropy, and the
route that loses."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BINARY = os.environ["RDMASCOPE_BINARY"]
MAKE_ROUTES = os.environ["RDMASCOPE_MAKE_ROUTES"]
ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2"}
PATH_ALARMS = {"path_sick", "path_slow", "path_marked", "reordering", "go_back_n_violation"}


class Paths(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-routes-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "routes.pcap"

    def make(self, **settings):
        """What is true of the traffic."""
        truth = self.file.with_suffix(".json")
        subprocess.run([MAKE_ROUTES, self.file, truth, *(f"{name}={value}" for name, value in settings.items())], check=True)
        return json.loads(truth.read_text())

    def ask(self, command, *options):
        done = subprocess.run([BINARY, command, "-n", "-r", self.file, "--json", *options], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1) if command == "why" else (0,), done.stderr)
        return json.loads(done.stdout)

    def alarms(self):
        return {answer["verdict"] for answer in self.ask("why")["answers"] if answer["alarm"]}

    def rows(self, shown):
        """(source, source port, flow label, outer port): the row."""
        return {(pair["source"]["address"], row["parts"]["udp_port"], row["parts"].get("flow_label", 0), row["parts"].get("outer_udp_port", 0)): row
                for pair in shown["pairs"] for row in pair["rows"]}

    def test_figures_are_the_models(self):
        for seed, settings in enumerate(({"both": 1}, {"uneven": 1, "tunnel": 1}, {"spread": "adapter", "order": "placing", "ports": 7},
                                         {"tap": "before", "marks": 20000}), 1):
            with self.subTest(settings):
                truth = self.make(seed=seed, packets=3000, **settings)
                expected = {(ADDRESSES[each["source"]], each["port"], each["label"], each["outer_port"]):
                            (each["packets"], each["octets"], each["marked"]) for each in truth["entropies"]}
                for threads in ("1", "2"):
                    rows = self.rows(self.ask("paths", "--threads", threads))
                    self.assertEqual({key: (row["packets"], row["bytes"], row["ce"]) for key, row in rows.items()}, expected)

    def test_the_route_that_loses(self):
        for seed in range(1, 6):
            with self.subTest(seed=seed):
                truth = self.make(seed=seed, one_each=1, loss=1500, loss_all=10)
                sick = [key[1] for key, row in self.rows(self.ask("paths")).items() if row["verdict"] == "path_sick"]
                self.assertEqual(sick, [each["port"] for each in truth["entropies"] if each["source"] == "a" and each["route"] == 0])
                self.assertIn("path_sick", self.alarms())

    def test_clean_spray_raises_no_alarm(self):
        for seed in range(1, 4):
            for spread, order in (("adapter", "placing"), ("network", "selective")):
                with self.subTest(seed=seed, spread=spread):
                    truth = self.make(seed=seed, spread=spread, order=order, delay_step=700, packets=3000)
                    self.assertGreater(truth["late"], 1000)
                    self.assertEqual(self.alarms() & PATH_ALARMS, set())


if __name__ == "__main__":
    unittest.main()
