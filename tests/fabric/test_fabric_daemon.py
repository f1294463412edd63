"""The daemon reads the subnet again and again: its series against perfquery, ibnetdiscover and sminfo."""
import re
import socket
import subprocess
import time
import unittest
import urllib.request

from simulator import BINARY, Subnet, example, links_of_ibnetdiscover, needs_simulator, wait_for


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def samples(text, name):
    """{labels as a dictionary's items: value} of one metric."""
    found = {}
    for labels, value in re.findall(rf'(?m)^{name}(?:{{(.*)}})? (\S+)$', text):
        found[frozenset(re.findall(r'(\w+)="([^"]*)"', labels))] = float(value)
    return found


def value(text, name, **labels):
    return next((one for key, one in samples(text, name).items() if set(labels.items()) <= key), None)


@needs_simulator
class Daemon(Subnet):
    def setUp(self):
        super().setUp()
        self.simulator = self.simulate(example("net.2sw2path4hca"))

    def start(self, fabric, host="Hca2"):
        self.port = free_port()
        config = self.folder / "rdmascope.toml"
        config.write_text('[capture]\ninterfaces = ["lo"]\n[control]\nsocket = ""\n[log]\nmax_lines_per_sec = 100\n'
                          f'[prometheus]\nlisten = "127.0.0.1:{self.port}"\n[fabric]\n{fabric}\n')
        self.log = self.folder / "daemon.log"
        with open(self.log, "wb") as errors:
            daemon = subprocess.Popen([BINARY, "daemon", "--config", config], env=self.simulator.environment(host, preload=True),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(self.simulator.end, daemon)
        wait_for(lambda: daemon.poll() is not None or "ready" in self.log.read_text(), "the daemon is ready")
        self.assertIsNone(daemon.poll(), self.log.read_text())
        return daemon

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def readings(self):
        return value(self.metrics(), "rdmascope_fabric_readings_total") or 0

    def later(self, more=2):
        """The series after further readings have begun and ended."""
        now = self.readings()
        wait_for(lambda: self.readings() >= now + more, "more readings")
        return self.metrics()

    def test_series_are_as_the_tools_say(self):
        self.simulator.start_manager("Hca1", priority=5)
        self.simulator.console('PerformanceSet "Switch1"[5] PortCounters.SymbolErrorCounter=12')
        self.start('interval = "1s"')
        text = self.later()
        self.assertEqual(value(text, "rdmascope_fabric_up"), 1, self.log.read_text())
        self.assertEqual(value(text, "rdmascope_fabric_failures_total"), 0)
        discovered = self.simulator.output_of("ibnetdiscover", host="Hca3")
        self.assertEqual(value(text, "rdma_fabric_nodes", type="switch"), len(re.findall(r"(?m)^Switch\s", discovered)))
        self.assertEqual(value(text, "rdma_fabric_nodes", type="adapter"), len(re.findall(r"(?m)^Ca\s", discovered)))
        links = samples(text, "rdma_fabric_links")
        self.assertEqual(sum(links.values()), len(links_of_ibnetdiscover(discovered)))
        manager = self.simulator.output_of("sminfo", host="Hca3")
        priority = int(re.search(r"priority (\d+)", manager)[1])
        self.assertEqual(priority, 5)
        self.assertEqual(value(text, "rdma_fabric_manager_priority", node="Hca1", state="master"), priority)
        # Both ends have names, and the counter is perfquery's.
        lid = re.search(r'Switch\s.*# "Switch1".* lid (\d+)', discovered)[1]
        theirs = int(re.search(r"SymbolErrorCounter:\.+(\d+)", self.simulator.output_of("perfquery", lid, 5, host="Hca3"))[1])
        self.assertEqual(theirs, 12)
        found = {key: count for key, count in samples(text, "rdma_fabric_port_errors_total").items()
                 if {("node", "Switch1"), ("port", "5"), ("error", "symbol_errors")} <= key}
        self.assertEqual(list(found.values()), [theirs])
        peer = dict(next(iter(found)))["peer"]
        self.assertIn(f'"{peer}"', re.search(r'(?ms)^Switch[^\n]*# "Switch1".*?\n\n', discovered)[0])
        self.assertNotIn("system call", self.log.read_text())

    def test_what_grows_between_two_readings_is_a_finding(self):
        self.simulator.start_manager("Hca1")
        self.simulator.console('PerformanceSet "Switch1"[5] PortCounters.SymbolErrorCounter=12')
        self.start('interval = "1s"')
        text = self.later()
        # It stands still: nothing is wrong now.
        self.assertIsNone(value(text, "rdma_fabric_findings", kind="symbol_errors"))
        stop = time.monotonic() + 60
        count = 100
        while value(self.metrics(), "rdma_fabric_findings", kind="symbol_errors") is None:
            self.assertLess(time.monotonic(), stop, "no finding of errors that grow")
            count += 1000
            self.simulator.console(f'PerformanceSet "Switch1"[5] PortCounters.SymbolErrorCounter={count}')
            time.sleep(0.3)

    def test_the_number_of_series_is_bounded(self):
        self.simulator.start_manager("Hca1")
        self.start('interval = "1s"\nmax_ports = 3')
        text = self.later()
        ports = {frozenset(key - {one for one in key if one[0] == "direction"}) for key in samples(text, "rdma_fabric_port_bytes_total")}
        self.assertEqual(len(ports), 3)
        links = sum(samples(text, "rdma_fabric_links").values())
        self.assertEqual(value(text, "rdmascope_fabric_ports_truncated"), 2 * links - 3)

    def test_a_reading_that_fails_is_counted_and_capture_continues(self):
        daemon = self.start('interval = "1s"\ndevice = "nothere0"')
        text = self.later()
        self.assertEqual(value(text, "rdmascope_fabric_up"), 0)
        self.assertEqual(value(text, "rdmascope_fabric_failures_total"), value(text, "rdmascope_fabric_readings_total"))
        self.assertIn("nothere0", self.log.read_text())
        before = value(text, "rdmascope_captured_packets_total")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(10):
                sender.sendto(bytes(64), ("127.0.0.1", 4791))  # the port of RoCEv2
        wait_for(lambda: value(self.metrics(), "rdmascope_captured_packets_total") >= before + 10, "the packets are captured")
        self.assertIsNone(daemon.poll())
        begun = time.monotonic()
        self.simulator.end(daemon)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(daemon.returncode, 0, self.log.read_text())

    def test_without_an_interval_nothing_is_read(self):
        self.simulator.start_manager("Hca1")
        self.start("")
        time.sleep(1.5)
        self.assertNotIn("fabric", self.metrics())

    def test_the_daemon_ends_while_the_subnet_does_not_answer(self):
        self.simulator.start_manager("Hca1")
        daemon = self.start('interval = "1s"')
        self.later(1)
        # Every datagram through the port is lost: a reading waits for answers.
        self.simulator.console('Error "Hca2"[1] 100')
        time.sleep(1.5)
        begun = time.monotonic()
        self.simulator.end(daemon)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(daemon.returncode, 0, self.log.read_text())


if __name__ == "__main__":
    unittest.main()
