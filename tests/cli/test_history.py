"""`flows` and `why` on a daemon's history: what was recorded is what the capture says, and times select from it."""
import csv
import datetime
import io
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from command import ENVIRONMENT, PCAPS, TestCase, run

MAKER = os.environ["RDMASCOPE_HISTORY_MAKER"]
CAPTURES = ["rxe-write-bw-64k.pcap", "rxe-rping.pcap", "siw-loss1pct-send-bw.pcap", "demo-loopback.pcap.gz"]
EXACT = ("id", "transport", "service", "source", "destination", "reverse", "packets", "wire_bytes", "payload_bytes", "messages",
         "message_bytes.count", "naks", "rnr_naks", "ecn_ce_packets", "cnp_packets", "icrc_bad", "crc_bad", "terminates")


def record(test, name, interval_ms):
    folder = test.folder / f"{name}-{interval_ms}"
    subprocess.run([MAKER, PCAPS / name, folder, str(interval_ms)], check=True, env=ENVIRONMENT)
    return folder


def member(flow, path):
    for word in path.split("."):
        flow = flow[word]
    return flow


def local(ns):
    """As an operator would type it; the tests' time zone is UTC."""
    whole = datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    return f"{whole}.{ns % 10**9:09}"


class HistoryTestCase(TestCase):
    def json(self, *arguments):
        return json.loads(self.succeeds(run("flows", "-n", "--json", *arguments)))

    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.succeeds(run("flows", "-n", "--csv", *arguments)), newline="")))


class Figures(HistoryTestCase):
    def test_of_all_intervals_are_those_of_the_capture(self):
        for name in CAPTURES:
            with self.subTest(capture=name):
                recorded = self.json("--history", record(self, name, 100))
                read = self.json("-r", PCAPS / name)
                self.assertEqual(recorded["capture"], read["capture"])
                self.assertEqual(len(recorded["flows"]), len(read["flows"]))
                for ours, theirs in zip(recorded["flows"], read["flows"]):
                    for path in EXACT:
                        self.assertEqual(member(ours, path), member(theirs, path), f"{path} of flow {theirs['id']}")

    def test_of_a_time_are_those_of_that_time(self):
        name = "siw-loss1pct-send-bw.pcap"
        folder = record(self, name, 100)
        columns = ["--columns", "interval,id,packets,wire_bytes"]
        expected = self.rows("-r", PCAPS / name, "--interval", "100ms", *columns)
        self.assertGreater(len({row["interval.start_ns"] for row in expected}), 3)
        self.assertEqual(self.rows("--history", folder, "--interval", "100ms", *columns), expected)
        self.assertEqual(self.rows("--history", folder, "--interval", "300ms", *columns),
                         self.rows("-r", PCAPS / name, "--interval", "300ms", *columns))
        # What is longer than the interval asked for stays as it is.
        self.assertEqual(self.rows("--history", folder, "--interval", "10ms", *columns), expected)

        read = self.json("-r", PCAPS / name)
        first = read["capture"]["first_ns"] // 10**8 * 10**8
        part = self.json("--history", folder, "--from", local(first), "--to", local(first + 2 * 10**8))
        rest = self.json("--history", folder, "--from", f"@{(first + 2 * 10**8) // 10**9}.{(first + 2 * 10**8) % 10**9:09}")
        self.assertEqual(part["capture"]["packets"] + rest["capture"]["packets"], read["capture"]["packets"])
        self.assertGreater(part["capture"]["packets"], 0)
        self.assertGreater(rest["capture"]["packets"], 0)

    def test_the_screen_shows_the_same(self):
        name = "siw-loss1pct-send-bw.pcap"
        folder = record(self, name, 100)
        first = self.json("-r", PCAPS / name)["capture"]["first_ns"] // 10**8 * 10**8
        columns = ("--columns", "id,packets,wire_bytes,retransmitted_packets")
        for time in ((), ("--from", local(first), "--to", local(first + 2 * 10**8)), ("--from", local(first + 10**9))):
            with self.subTest(time=time):
                expected = self.rows("--history", folder, *columns, *time)
                picture = self.succeeds(run("top", "--once", "-n", "--columns", "id,packets,retransmitted_packets",
                                            "--history", folder, *time))
                shown = {}
                for line in picture.splitlines():
                    cells = line.replace("!", " ").replace(",", "").split()
                    if len(cells) == 3 and all(cell.isdigit() for cell in cells):
                        shown[cells[0]] = (cells[1], cells[2])
                self.assertEqual(shown, {row["id"]: (row["packets"], row["retransmitted_packets"]) for row in expected})

    def test_why_answers_as_of_the_capture(self):
        name = "siw-loss1pct-send-bw.pcap"
        folder = record(self, name, 100)
        recorded = json.loads(self.succeeds(run("why", "--json", "--history", folder)))
        read = json.loads(self.succeeds(run("why", "--json", "-r", PCAPS / name)))
        self.assertEqual(recorded["capture"], read["capture"])
        verdicts = [[(answer["question"], answer["verdict"]) for answer in one["answers"]] for one in (recorded, read)]
        self.assertEqual(verdicts[0], verdicts[1])
        self.assertEqual(len(verdicts[0]), 5)

    def test_damage_is_told_and_left_out(self):
        folder = record(self, "rxe-write-bw-64k.pcap", 1)
        segment = folder / "00000001.rdmahist"
        octets = bytearray(segment.read_bytes())
        octets[200] ^= 0xff
        segment.write_bytes(octets)
        result = run("flows", "--history", folder)
        self.succeeds(result)
        self.assertIn("rdmascope flows: left out of the history: 1 damaged interval\n", result.stderr)


class Errors(HistoryTestCase):
    def test_of_the_directory(self):
        missing = self.fails(run("flows", "--history", self.folder / "none"))
        self.assertIn("there is no such directory", missing)
        self.assertIn("is no history", self.fails(run("why", "--history", self.folder)))
        self.assertIn("is no directory", self.fails(run("flows", "--history", PCAPS / "rxe-rping.pcap")))
        if not os.path.exists("/var/lib/rdmascope/history"):
            self.assertIn("/var/lib/rdmascope/history", self.fails(run("flows", "--from=-1h")))

    def test_where_nothing_was_recorded_the_range_is_told(self):
        folder = record(self, "rxe-write-bw-64k.pcap", 1000)
        first = self.json("--history", folder)["capture"]["first_ns"]
        message = self.fails(run("flows", "--history", folder, "--to", "2001-02-03 04:05:06"))
        self.assertIn("nothing was recorded to 2001-02-03 04:05:06; the history goes from " + local(first)[:19] + " to", message)

    def test_of_usage(self):
        for arguments, expected in (
                (["--history", "x", "-r", "y"], "--history and -r are given"),
                ([PCAPS / "rxe-rping.pcap", "--from", "10:00"],
                 f"--from and -r are given ({PCAPS / 'rxe-rping.pcap'}): --from is of what a daemon recorded"),
                (["--from=-1h", "-i", "lo"], "--from and -i are given"),
                (["--to=now", "--connect=x"], "--to and --connect are given"),
                (["--history", "x", "udp"], "an expression"),
                (["--history", "x", "-c", "5"], "-c says how packets are to be looked at"),
                (["--history", "x", "--seconds", "5"], "say --from and --to"),
                (["--history="], "--history '': a directory is expected"),
                (["--from", "yesterday"], "--from yesterday: a time such as 10:00"),
                (["--from", "-1h", "--to", "-2h"], "is not before --to")):
            with self.subTest(arguments=arguments):
                self.assertIn(expected, self.fails(run("flows", *arguments), 2))


class FormerVersions(HistoryTestCase):
    def test_figures_of_version_7_are_read(self):
        # A daemon of before version 8 recorded it on loopback while `endpoint bench read --size 512 --count 200` ran,
        # which reported 200 messages of 102,400 bytes. Its connections ended by FIN.
        folder = self.folder / "former"
        shutil.copytree(pathlib.Path(__file__).parent / "history-version-7", folder)
        flows = self.json("--history", folder)["flows"]
        reads = [flow for flow in flows if flow["messages"]["read"]["count"]]
        self.assertEqual([flow["messages"]["read"] for flow in reads], [{"count": 200, "bytes": 102_400}])
        self.assertEqual(reads[0]["connection"]["end"], "TCP FIN")
        self.assertEqual(len(flows), 12)


if __name__ == "__main__":
    unittest.main()
