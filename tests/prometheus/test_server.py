"""A real Prometheus scrapes the listener, and its API returns the figures of `flows --json`; its rules are loaded."""
import json
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from tools import BINARY, RULES, needs, program, run
from test_dashboard import expressions
from test_listener import CAPTURE, Server

DEADLINE = 120


def free_port():
    with socket.socket() as handle:
        handle.bind(("127.0.0.1", 0))
        return handle.getsockname()[1]


class Prometheus:
    """A server of the test's own, on loopback, with its data in a folder that goes with it."""

    def __init__(self, folder, target):
        self.port = free_port()
        config = folder / "prometheus.yml"  # JSON is YAML
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES / "recording.yml"), str(RULES / "alerts.yml")],
            "scrape_configs": [{"job_name": "rdmascope", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}]}))
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(
            [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
            stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def ask(self, path, **parameters):
        """The answer's data, as soon as there is a server."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def wait_for(self, condition):
        """What `condition` returns, once it is neither None nor empty."""
        until = time.monotonic() + DEADLINE
        while time.monotonic() < until:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise RuntimeError(f"prometheus ended: {self.log.read()}")
            try:
                if found := condition():
                    return found
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                pass
            time.sleep(0.2)
        raise RuntimeError("nothing came of it in time")

    def value(self, query):
        """Of a query with one sample."""
        return float(self.wait_for(lambda: self.ask("query", query=query)["result"])[0]["value"][1])


@needs("prometheus")
class Scrape(unittest.TestCase):
    def test_its_figures_are_those_of_the_capture(self):
        flows = json.loads(run(BINARY, "flows", "--json", "-r", CAPTURE).stdout)["flows"]
        with tempfile.TemporaryDirectory(prefix="rdmascope-prometheus-") as folder, Server() as server, \
                Prometheus(pathlib.Path(folder), server.port) as prometheus:
            target = prometheus.wait_for(lambda: [
                target for target in prometheus.ask("targets")["activeTargets"] if target["health"] != "unknown"])[0]
            self.assertEqual((target["health"], target["lastError"]), ("up", ""))
            self.assertEqual(prometheus.value("sum(rdma_packets_total)"), sum(flow["packets"] for flow in flows))
            self.assertEqual(prometheus.value("sum(rdma_wire_bytes_total)"), sum(flow["wire_bytes"] for flow in flows))
            self.assertEqual(prometheus.value("sum(rdma_rnr_naks_total)"), sum(flow["rnr_naks"] for flow in flows))
            # One RNR NAK is what this capture was made for.
            self.assertEqual(prometheus.value("sum(rdma_rnr_naks_total)"), 1)
            for operation in ("send", "write"):
                wanted = sum(flow["messages"][operation]["count"] for flow in flows)
                if wanted:
                    self.assertEqual(prometheus.value(f'sum(rdma_messages_total{{op="{operation}"}})'), wanted)
                samples = sum(flow["latency_ns"][operation]["count"] for flow in flows)
                if samples:
                    self.assertEqual(prometheus.value(
                        f'sum(rdma_message_latency_seconds_bucket{{op="{operation}",le="+Inf"}})'), samples)
            self.assertEqual(prometheus.value("rdmascope_build_info"), 1)
            rules = prometheus.wait_for(lambda: [rule for group in prometheus.ask("rules")["groups"]
                                                 for rule in group["rules"] if rule["health"] == "ok"])
            self.assertTrue(rules)
            bad = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"] if rule["health"] == "err"]
            self.assertEqual(bad, [])
            # What parses may still have no meaning: labels that do not match, a rate of nothing.
            for title, expression in expressions():
                with self.subTest(panel=title):
                    self.assertEqual(prometheus.ask("query", query=expression)["resultType"], "vector")


if __name__ == "__main__":
    unittest.main()
