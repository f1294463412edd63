#!/usr/bin/env python3
"""Traces of the laboratory's virtual machines, with captures of the same run: Linux' rxe and siw, kernel 6.1, Debian's perftest.

pcaps/observed has them (`./dev lab observe` makes them). What `flows --trace` says must be what the command line of the recorded
run says, which stands in the JSON next to it, and what perftest reported there."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import unittest

from trace_file import COMPLETION, POST_SEND, RDMA_WRITE, SEND, Trace

BINARY = os.environ["RDMASCOPE_BINARY"]
FOLDER = pathlib.Path(os.environ["RDMASCOPE_PCAPS"]) / "observed"
RDMA_READ = 4
OPERATIONS = {"ib_write_bw": ("write", RDMA_WRITE), "ib_read_bw": ("read", RDMA_READ), "ib_send_bw": ("send", SEND)}


class Run:
    """One recorded run of perftest: its options and report, the trace and the capture."""

    def __init__(self, name):
        self.name = name
        self.record = json.loads((FOLDER / f"{name}.json").read_text())
        self.client = next(one for one in self.record["commands"] if "run --trace" in one["cmd"])
        line = next(line for line in self.client["cmd"].splitlines() if "run --trace" in line)
        words = shlex.split(line[line.index(" -- ") + 4:line.index(";")])
        self.command, self.tool = " ".join(words), words[0]
        options = dict(zip(words, words[1:]))
        self.count, self.depth, self.size = (int(options[letter]) for letter in ("-n", "-t", "-s"))
        self.operation, self.opcode = OPERATIONS[self.tool]
        self.driver = name.rsplit("-", 1)[1]
        self.trace = Trace(FOLDER / f"{name}.trace")

    def flows(self):
        result = subprocess.run([BINARY, "flows", "-n", "--json", "-r", FOLDER / f"{self.name}.pcap.gz", "--trace", FOLDER / f"{self.name}.trace"],
                                capture_output=True, text=True, check=True)
        return json.loads(result.stdout)["flows"]

    def flow(self):
        """The client's queue pair and flow of the operations; perftest has a connection of its own for its figures."""
        posts = [one.number for one in self.trace.of(POST_SEND) if one.opcode == self.opcode and one.bytes == self.size]
        found = [one for one in self.flows() if one["work"] and one["messages"][self.operation]["count"] >= self.count]
        assert len(found) == 1, [(one["messages"], one["work"]) for one in found]
        return max(set(posts), key=posts.count), found[0]


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = [Run(path.stem) for path in sorted(FOLDER.glob("observe-traced-ib-*.trace"))]

    def test_there_are_runs_of_both_providers(self):
        self.assertEqual({(one.tool, one.driver) for one in self.runs}, {(tool, driver) for tool in OPERATIONS for driver in ("rxe", "siw")})

    def each(self, check):
        for run in self.runs:
            with self.subTest(run.name):
                check(run)

    def test_posts_are_those_of_the_command_line(self):
        def check(run):
            posts = [one for one in run.trace.of(POST_SEND) if one.opcode == run.opcode and one.bytes == run.size]
            self.assertEqual(len(posts), run.count)
            self.assertEqual((run.trace.complete, run.trace.lost), (True, 0))
            (process,) = run.trace.processes.values()
            self.assertEqual((process["command"], process["devices"]), (run.command, [f"{run.driver}0"]))
            # perftest's own report of the run, in the same JSON: size, iterations, two rates and messages.
            self.assertRegex(run.client["output"], rf"(?m)^ *{run.size} +{run.count}\s+[\d.]+\s+[\d.]+\s+[\d.]+$")
        self.each(check)

    def test_flows_has_them_beside_the_packets(self):
        def check(run):
            _, flow = run.flow()
            self.assertEqual(flow["process"]["command"], run.command)
            self.assertEqual(flow["work"]["posts"], run.count)
            self.assertEqual(flow["messages"][run.operation]["count"], run.count)
            self.assertEqual(flow["work"]["messages_matched"], run.count)
            self.assertEqual(flow["work"]["completion_errors"], 0)
            self.assertEqual(flow["queue_depth"]["max"], run.depth)
            self.assertLessEqual(flow["queue_depth"]["mean"], run.depth)
        self.each(check)

    def test_the_parts_of_an_operation_add_up(self):
        whole_ones = []

        def check(run):
            number, flow = run.flow()
            parts = [flow[name] for name in ("post_to_wire_ns", "on_wire_ns", "wire_to_ack_ns", "ack_to_poll_ns")]
            whole = flow["post_to_poll_ns"]
            self.assertGreater(whole["count"], 0)
            if {one["count"] for one in parts} == {whole["count"]}:
                whole_ones.append(run.name)
                self.assertAlmostEqual(sum(one["mean"] for one in parts), whole["mean"], delta=5)
            # No operation took longer than the queue pair was busy.
            times = [one.time_ns for one in run.trace.records if one.number == number and one.kind in (POST_SEND, COMPLETION)]
            self.assertLessEqual(whole["max"], (max(times) - min(times)) * 1.01)
        self.each(check)
        self.assertGreater(len(whole_ones), 2)

    def test_the_summary_of_the_run_was_right(self):
        def check(run):
            number, _ = run.flow()
            told = re.search(rf"QP {number:#x}: (\d+) posts of (\d+) (?:bytes|octets), depth [<\d.,]+ on average, (\d+) at most", run.client["output"])
            self.assertIsNotNone(told, run.client["output"])
            self.assertEqual(tuple(map(int, told.groups())), (run.count, run.count * run.size, run.depth))
        self.each(check)

    def test_a_program_that_is_not_traced_is_named_by_the_kernel(self):
        """The kernel's events alone tell whose the queue pair is; ftrace's buffer of the same run has the pid."""
        name = "observe-untraced-rxe"
        result = subprocess.run([BINARY, "flows", "-n", "--json", "-r", FOLDER / f"{name}.pcap.gz", "--trace", FOLDER / f"{name}.trace"],
                                capture_output=True, text=True, check=True)
        text = (FOLDER / f"{name}.txt").read_text()
        (pid, number), = re.findall(r"rping-(\d+) .* cm_send_req: .* qp_num=(\d+)", text)
        mine = [one for one in json.loads(result.stdout)["flows"] if one["messages"]["send"]["count"] and one["source"]["address"] == "192.0.2.2"]
        self.assertEqual(len(mine), 1)
        self.assertEqual(mine[0]["process"]["pid"], int(pid))
        self.assertTrue(mine[0]["process"]["command"].startswith("rping -c -a 192.0.2.1"), mine[0]["process"])
        theirs = [one for one in json.loads(result.stdout)["flows"] if one["id"] == mine[0]["reverse"]]
        self.assertEqual(theirs[0]["destination"]["qpn"], int(number))


if __name__ == "__main__":
    unittest.main()
