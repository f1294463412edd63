"""The Grafana dashboard: every expression parses, names only series and labels that there are, and every panel says what it
shows, in which unit."""
import json
import pathlib
import re
import tempfile
import unittest

from tools import ROOT, needs, program, run, table

DASHBOARD = json.loads((ROOT / "exporters" / "grafana" / "rdmascope.json").read_text())
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
UNITS = {"Bps", "bytes", "s", "ops", "pps", "percentunit", "short"}
SCRAPED = {"job", "instance", "le"}


def panels():
    """Those that ask Prometheus."""
    return [panel for panel in DASHBOARD["panels"] if panel["type"] not in ("row", "alertlist", "text")]


def expressions():
    """(title, expression) as Prometheus gets it."""
    for panel in panels():
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "5m")
            yield panel["title"], re.sub(r"\$(\w+)", lambda match: ".*" if match[1] in VARIABLES else match[0], text)


class Dashboard(unittest.TestCase):
    @needs("promtool")
    def test_every_expression_parses(self):
        rules = [{"record": f"panel:number:{number}", "expr": text} for number, (_, text) in enumerate(expressions())]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rules.yml"  # JSON is YAML
            file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
            result = run(program("promtool"), "check", "rules", file)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{len(rules)} rules found", result.stdout)

    def test_every_variable_is_known(self):
        for title, text in expressions():
            self.assertNotIn("$", text, title)
        self.assertLessEqual({"datasource", "interface", "transport", "peer"}, set(VARIABLES))
        for name, variable in VARIABLES.items():
            if variable["type"] == "query":
                series = re.match(r"label_values\((\w+)(\{.*\})?, (\w+)\)", variable["query"]["query"])
                self.assertIn(series[1], table())
                self.assertIn(series[3], table()[series[1]].labels + ["job", "instance"])

    def test_only_series_and_labels_that_there_are_are_named(self):
        known = table()
        for title, text in expressions():
            selectors = re.findall(r"\b(rdma\w+)\{([^}]*)\}", text)
            self.assertEqual(len(re.findall(r"\brdma\w+", text)), len(selectors), f"{title}: {text}")
            allowed = set(SCRAPED)
            for name, matchers in selectors:
                base = known.get(name) or known.get(re.sub(r"_(bucket|sum|count)$", "", name))
                self.assertIsNotNone(base, f"{title}: {name}")
                allowed |= set(base.labels)
                self.assertLessEqual(set(re.findall(r"(\w+)=~?\"", matchers)), set(base.labels) | SCRAPED, f"{title}: {name}")
                # A counter is shown by its rate, a gauge as it is.
                rated = re.search(rf"(rate|increase)\({name}\b", text) is not None
                self.assertEqual(rated, base.type != "gauge", f"{title}: {name}")
            for labels in re.findall(r"\b(?:by|on|ignoring) \(([^)]*)\)", text):
                self.assertLessEqual({label.strip() for label in labels.split(",")}, allowed, f"{title}: {labels}")

    def test_legends_name_labels_that_are_left(self):
        for panel in panels():
            for target in panel["targets"]:
                wanted = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
                grouped = [set(re.split(r", ", labels)) for labels in re.findall(r"\bby \(([^)]*)\)", target["expr"])]
                left = grouped[0] if grouped else {"instance", "job"}
                self.assertLessEqual(wanted, left, panel["title"])

    def test_every_panel_has_unit_and_description(self):
        for panel in panels():
            self.assertTrue(panel["description"].endswith("."), panel["title"])
            self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS, panel["title"])
            self.assertEqual(panel["datasource"]["uid"], "${datasource}", panel["title"])
            self.assertTrue(panel["targets"], panel["title"])

    def test_the_first_row_says_whether_anything_is_wrong(self):
        first = [panel for panel in DASHBOARD["panels"] if panel["gridPos"]["y"] < 13]
        self.assertEqual(first[0]["title"], "Is anything wrong?")
        self.assertEqual({panel["type"] for panel in first}, {"row", "stat", "timeseries", "alertlist", "text"})
        for panel in first:
            if panel["type"] != "stat":
                continue
            steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
            self.assertEqual([step["color"] for step in steps], ["green", "yellow", "orange", "red"], panel["title"])
            self.assertIsNone(steps[0]["value"])
            values = [step["value"] for step in steps[1:]]
            self.assertEqual(values, sorted(values), panel["title"])

    def test_hosts_whose_devices_are_all_there_is_have_a_row(self):
        titles = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
        self.assertIn("Devices: what the adapters count", titles)
        named = set(re.findall(r"rdma_device_\w+", " ".join(text for _, text in expressions())))
        self.assertLessEqual({"rdma_device_bytes_total", "rdma_device_events_total", "rdma_device_port_active"}, named)

    def test_panels_do_not_lie_on_each_other(self):
        taken, identifiers = set(), set()
        for panel in DASHBOARD["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            self.assertNotIn(panel["id"], identifiers)
            identifiers.add(panel["id"])
            for column in range(place["x"], place["x"] + place["w"]):
                for line in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((column, line), taken, panel["title"])
                    taken.add((column, line))

    def test_there_is_a_row_for_each_question(self):
        rows = " ".join(panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row").lower()
        for subject in ("bandwidth", "latency", "congestion", "queue depth", "commands", "paths", "time went", "errors", "capture"):
            self.assertIn(subject, rows)


if __name__ == "__main__":
    unittest.main()
