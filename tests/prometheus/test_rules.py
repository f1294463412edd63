"""Recording and alert rules: promtool accepts them, they name only series that there are, and each alert fires when it
should and only then (by promtool's own unit tests)."""
import json
import pathlib
import re
import tempfile
import unittest

from tools import RULES, needs, program, run, table

WHERE = 'job="rdmascope",instance="a"'
FLOW = f'{WHERE},interface="eth0",transport="roce2",direction="transmit",traffic_class="0",peer="b"'


def flow(name, more=""):
    return f"{name}{{{FLOW}{more}}}"


def of_instance(name, more=""):
    return f"{name}{{{WHERE}{more}}}"


def per_second(rate):
    """A counter, sampled each minute for an hour."""
    return f"0+{rate * 60}x60"


def buckets(minutes, slow):
    """A latency histogram: all below 2^-14 s (61 us), or, from `minutes` on, above 2^-7 s (7.8 ms)."""
    rows = []
    for le in ("6.103515625e-05", "0.0078125", "0.015625", "+Inf"):
        fast = le == "6.103515625e-05" or le == "0.0078125"
        values = f"0+600x{minutes} " + (f"{minutes * 600}+0x60" if fast and slow else f"{minutes * 600}+600x60")
        rows.append((flow("rdma_message_latency_seconds_bucket", f',op="write",le="{le}"'), values))
    rows.append((flow("rdma_message_latency_seconds_count", ',op="write"'), f"0+600x{minutes + 60}"))
    return rows


COMMANDS = f'{WHERE},protocol="nvme",peer="b"'


def command(name, more=""):
    return f"{name}{{{COMMANDS}{more}}}"


def slow_reads(minutes, share):
    """Reads of 61 us, from `minutes` on of 7.8 ms, of which the target has `share`."""
    rows = []
    for le in ("6.103515625e-05", "0.0078125", "0.015625", "+Inf"):
        then = f"{minutes * 600}+0x60" if le in ("6.103515625e-05", "0.0078125") else f"{minutes * 600}+600x60"
        rows.append((command("rdmascope_io_seconds_bucket", f',kind="read",le="{le}"'), f"0+600x{minutes} {then}"))
    rows.append((command("rdmascope_io_seconds_count", ',kind="read"'), f"0+600x{minutes + 60}"))
    for part, part_share in (("target_before", share), ("data", 1 - share)):
        rows.append((command("rdmascope_io_part_seconds_total", f',kind="read",part="{part}"'),
                     f"0+{part_share}x{minutes + 60}"))
    return rows


DAY = 3 * 60  # minutes: the mean of the day before needs no whole day
# Alert -> (series and values with which it fires, those with which it does not, minute of the question).
CASES = {
    "RdmaFinding": (
        [(of_instance("rdmascope_verdict", ',question="bandwidth",verdict="rnr"'), "0.2x60")],
        # Little, and much for a moment.
        [(of_instance("rdmascope_verdict", ',question="bandwidth",verdict="rnr"'), "0.04x60"),
         (of_instance("rdmascope_verdict", ',question="latency",verdict="rnr"'), "0x12 0.4 0x60")], 15),
    "RdmaFindingSevere": (
        [(of_instance("rdmascope_verdict", ',question="bandwidth",verdict="rnr"'), "0.9x60")],
        [(of_instance("rdmascope_verdict", ',question="bandwidth",verdict="rnr"'), "0.2x60")], 15),
    "RdmaNakStorm": (
        [(flow("rdma_naks_total", ',code="psn_sequence_error"'), per_second(20))],
        [(flow("rdma_naks_total", ',code="psn_sequence_error"'), per_second(5))], 15),
    "RdmaRetransmissions": (
        [(flow("rdma_retransmitted_packets_total"), per_second(2)), (flow("rdma_packets_total"), per_second(1000))],
        # Few of many; and much of nearly nothing.
        [(flow("rdma_retransmitted_packets_total"), per_second(2)), (flow("rdma_packets_total"), per_second(10000)),
         (flow("rdma_retransmitted_packets_total").replace('"b"', '"c"'), per_second(1)),
         (flow("rdma_packets_total").replace('"b"', '"c"'), per_second(5))], 15),
    "RdmaReceiverNotReady": (
        [(flow("rdma_rnr_naks_total"), per_second(2))], [(flow("rdma_rnr_naks_total"), "0x5 30x60")], 15),
    "RdmaCongestionNotifications": (
        [(flow("rdma_cnp_packets_total"), per_second(200))], [(flow("rdma_cnp_packets_total"), per_second(50))], 15),
    "RdmaPauseShare": (
        # 100 Gbit/s: 12.5e9 octets a second; 64 octets a quantum: 195312500 quanta a second are all of the time.
        [(of_instance("rdma_pause_quanta_total", ',interface="eth0",priority="3"'), per_second(195312500 // 10)),
         (of_instance("rdmascope_interface_speed_bytes_per_second", ',interface="eth0"'), "12500000000x60")],
        [(of_instance("rdma_pause_quanta_total", ',interface="eth0",priority="3"'), per_second(195312500 // 100)),
         (of_instance("rdmascope_interface_speed_bytes_per_second", ',interface="eth0"'), "12500000000x60"),
         # Asked for most of the time, and taken back at once.
         (of_instance("rdma_pause_quanta_total", ',interface="eth0",priority="4"'), per_second(195312500 // 2)),
         (of_instance("rdma_pause_seconds_total", ',interface="eth0",priority="4"'), per_second(0.01))], 15),
    "RdmaPauseFrames": (
        [(of_instance("rdma_pause_frames_total", ',interface="eth0",priority="3"'), per_second(200))],
        [(of_instance("rdma_pause_frames_total", ',interface="eth0",priority="3"'), per_second(200)),
         (of_instance("rdmascope_interface_speed_bytes_per_second", ',interface="eth0"'), "12500000000x60")], 15),
    "RdmaLatencyHigh": (buckets(DAY, True), buckets(DAY, False), DAY + 30),
    "RdmaTargetSlow": (slow_reads(DAY, 0.9), slow_reads(DAY, 0.7), DAY + 30),
    "RdmaCommandErrors": (
        [(command("rdmascope_io_commands_total", ',kind="read",result="device"'), "0x5 1x60")],
        [(command("rdmascope_io_commands_total", ',kind="read",result="ok"'), per_second(100)),
         (command("rdmascope_io_commands_total", ',kind="other",result="protocol"'), "0x5 1x60"),
         (command("rdmascope_io_commands_total", ',kind="read",result="path"'), "3x60")], 15),
    "RdmaCommandsUnanswered": (
        [(command("rdmascope_io_unanswered"), "0x5 2x60")], [(command("rdmascope_io_unanswered"), "2x5 0x60")], 15),
    "RdmaCommandsAtLimit": (
        [(command("rdmascope_io_at_limit_seconds_total"), per_second(0.6))],
        [(command("rdmascope_io_at_limit_seconds_total"), per_second(0.4))], 40),
    "RdmaCrcErrors": (
        [(flow("rdma_icrc_bad_packets_total"), "0x5 1x60")], [(flow("rdma_icrc_bad_packets_total"), "7x60")], 15),
    "RdmaFlowWindowLimited": (
        [(flow("rdma_flow_state_seconds_total", ',state="ack_window"'), per_second(0.25)),
         (flow("rdma_flow_state_seconds_total", ',state="credit"'), per_second(0.25)),
         (flow("rdma_flow_state_seconds_total", ',state="application_idle"'), per_second(0.5))],
        [(flow("rdma_flow_state_seconds_total", ',state="ack_window"'), per_second(0.25)),
         (flow("rdma_flow_state_seconds_total", ',state="application_idle"'), per_second(0.75))], 40),
    "RdmaTerminates": (
        [(flow("rdma_terminates_total"), "0x5 1x60")], [(flow("rdma_terminates_total"), "3x60")], 15),
    "RdmaConnectionsFail": (
        [(of_instance("rdma_connection_attempts_total", ',transport="iwarp",outcome="rejected"'), per_second(1))],
        [(of_instance("rdma_connection_attempts_total", ',transport="iwarp",outcome="established"'), per_second(1))], 15),
    "RdmaPolicyBroken": (
        [(of_instance("rdmascope_policy_broken_packets_total", ',rule="storage"'), "0x5 1x60")],
        [(of_instance("rdmascope_policy_broken_packets_total", ',rule="storage"'), "3x60")], 8),
    "RdmascopeDown": ([(of_instance("up"), "0x60")], [(of_instance("up"), "1x60")], 15),
    "RdmascopeAbsent": (
        [(of_instance("up"), "0x60")], [(of_instance("rdmascope_build_info", ',version="1"'), "1x60")], 15),
    "RdmascopeInterfaceDown": (
        [(of_instance("rdmascope_interface_up", ',interface="eth0"'), "0x60")],
        [(of_instance("rdmascope_interface_up", ',interface="eth0"'), "0x5 1x60")], 15),
    "RdmascopeCaptureLoss": (
        [(of_instance("rdmascope_interface_dropped_packets_total", ',interface="eth0",by="kernel"'), per_second(10)),
         (of_instance("rdmascope_interface_received_packets_total", ',interface="eth0"'), per_second(1000))],
        [(of_instance("rdmascope_interface_dropped_packets_total", ',interface="eth0",by="kernel"'), "500x60"),
         (of_instance("rdmascope_interface_received_packets_total", ',interface="eth0"'), per_second(1000))], 15),
    "RdmascopeHistoryLost": (
        [(of_instance("rdmascope_history_lost_intervals_total"), "0x5 3x60")],
        [(of_instance("rdmascope_history_lost_intervals_total"), "3x60")], 15),
    "RdmascopeRecordingFailed": (
        [(of_instance("rdmascope_recordings_failed_total"), "0x5 1x60")],
        [(of_instance("rdmascope_recordings_failed_total"), "1x60")], 15),
    "RdmascopeFlowsEvicted": (
        [(of_instance("rdmascope_flows_evicted_total"), per_second(1))],
        [(of_instance("rdmascope_flows_evicted_total"), "9x60")], 15),
    "RdmascopePeersTruncated": (
        [(of_instance("rdmascope_peers_truncated"), "4x120")], [(of_instance("rdmascope_peers_truncated"), "0x120")], 90),
    "RdmascopeConfigRefused": (
        [(of_instance("rdmascope_config_last_reload_successful"), "0x60")],
        [(of_instance("rdmascope_config_last_reload_successful"), "1x60")], 15),
}
ALERTS = (RULES / "alerts.yml").read_text()
RECORDING = (RULES / "recording.yml").read_text()


def alert_blocks():
    """Name -> the text of the rule."""
    parts = re.split(r"^      - alert: (\w+)\n", ALERTS, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def question(alert, series, minute, fires):
    return {"interval": "1m", "input_series": [{"series": name, "values": values} for name, values in series],
            "promql_expr_test": [{
                "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', "eval_time": f"{minute}m",
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else []}]}


class Rules(unittest.TestCase):
    @needs("promtool")
    def test_promtool_accepts_them(self):
        result = run(program("promtool"), "check", "rules", RULES / "recording.yml", RULES / "alerts.yml")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @needs("promtool")
    def test_every_alert_fires_when_it_should_and_only_then(self):
        self.assertEqual(sorted(CASES), sorted(alert_blocks()))
        for alert, (fires, calm, minute) in CASES.items():
            with self.subTest(alert=alert), tempfile.TemporaryDirectory() as folder:
                tests = pathlib.Path(folder) / "test.yml"  # JSON is YAML
                tests.write_text(json.dumps({
                    "rule_files": [str(RULES / "recording.yml"), str(RULES / "alerts.yml")], "evaluation_interval": "1m",
                    "tests": [question(alert, fires, minute, True), question(alert, calm, minute, False)]}))
                result = run(program("promtool"), "test", "rules", tests)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_they_name_only_series_that_there_are(self):
        known = set(table()) | {name + suffix for name, series in table().items() if series.type == "histogram"
                                for suffix in ("_bucket", "_sum", "_count")}
        recorded = set(re.findall(r"record: (\S+)", RECORDING))
        text = re.sub(r"#.*", "", RECORDING + ALERTS)
        used = set(re.findall(r"(?<![\w:/.])(rdma(?:scope)?[_:][\w:]+)", text))
        self.assertEqual(sorted(used - known - recorded), [])
        for case in CASES.values():
            for series, _ in case[0] + case[1]:
                name, labels = re.match(r"(\w+)\{(.*)\}", series).groups()
                if name == "up":
                    continue
                self.assertIn(name, known)
                base = table().get(name) or table()[re.sub("_(bucket|sum|count)$", "", name)]
                having = set(re.findall(r'(\w+)="', labels)) - {"job", "instance", "le"}
                self.assertEqual(having, set(base.labels), series)

    def test_every_alert_says_what_to_look_at(self):
        for alert, text in alert_blocks().items():
            for annotation in ("summary", "description", "look"):
                self.assertIn(f"          {annotation}: ", text, alert)
            self.assertRegex(text, r"labels: \{severity: (info|warning|critical)\}", alert)
            look = re.sub(r"\s+", " ", text[text.index("          look: "):])
            self.assertRegex(look, r"rdmascope (why|flows|dump|daemon|policy)\b|curl", alert)


if __name__ == "__main__":
    unittest.main()
