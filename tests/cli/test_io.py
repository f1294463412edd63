"""Commands of upper layers: `io` in all its forms, and `dump`. What is expected was found by a reader written apart
(tests/unit/upper/nvme-rdma-rxe.tsv), by tshark, and by what fio and dd did next to the capture."""
import csv
import gzip
import io
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from command import PCAPS, ROOT, TestCase, dump, needs, run

NVME = PCAPS / "nvme-rdma-rxe.pcap.gz"
PARTS = ("request", "target_before", "data", "target_after", "response")


def commands(*arguments, **options):
    return run("io", *arguments, **options)


def expected(name="nvme-rdma-rxe"):
    lines = [line for line in (ROOT / f"tests/unit/upper/{name}.tsv").read_text().splitlines() if line[0] != "#"]
    return list(csv.DictReader(lines, delimiter="\t"))


def latency(row):
    return sum(int(row[part + "_ns"]) for part in PARTS)


class IoTestCase(TestCase):
    def json(self, *arguments):
        return json.loads(self.succeeds(commands("--json", *arguments)))

    def each(self, *arguments):
        """One object a line."""
        return [json.loads(line) for line in self.succeeds(commands("--each", "--json", *arguments)).splitlines()]

    def csv(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.succeeds(commands("--csv", *arguments)), newline="")))


class Each(IoTestCase):
    def test_every_command_has_its_row(self):
        rows = [row for row in self.csv("--each", "-r", NVME) if row["end"] == "answered"]
        rows.sort(key=lambda row: int(row["response_frame"]))
        wanted = sorted(expected(), key=lambda row: int(row["response"]))
        self.assertEqual(len(rows), 463)
        for row, want in zip(rows, wanted, strict=True):
            found = [row["id"], row["kind"], row["advertised_bytes"], row["inline_bytes"],
                     str(int(row["moved_in_bytes"]) + int(row["moved_out_bytes"])), row["request_frame"],
                     row["request_last_frame"], row["operations"], row["data_first_frame"] or "0",
                     row["data_last_frame"] or "0", row["response_frame"], row["start_ns"],
                     *(row[part + "_ns"] for part in PARTS)]
            self.assertEqual(found, list(want.values()))
            self.assertEqual(int(row["latency_ns"]), latency(want))
            self.assertEqual((row["status"], row["error"]), ("Success", ""))

    def test_other_protocols_have_their_rows(self):
        for name, file, number, errors in (("nfs-rdma-rxe", "nfs-rdma-rxe.pcap", 89, 0),
                                           ("nfs-rdma-siw", "nfs-rdma-siw.pcap", 88, 0),
                                           ("iser-rxe", "iser-rxe.pcap.gz", 214, 1), ("srp-rxe", "srp-rxe.pcap.gz", 131, 1),
                                           ("smbdirect-rxe", "smbdirect-rxe.pcap", 6, 2),
                                           ("smbdirect-siw", "smbdirect-siw.pcap", 6, 2), ("made-smb", "made-smb.pcap", 15, 2),
                                           ("rds-rxe", "rds-rxe.pcap", 17, 0), ("made-rds", "made-rds.pcap", 6, 0)):
            rows = [row for row in self.csv("--each", "-r", PCAPS / file) if row["end"] == "answered"]
            rows.sort(key=lambda row: int(row["response_frame"]))
            wanted = sorted(expected(name), key=lambda row: int(row["response"]))
            with self.subTest(name=name):
                self.assertEqual(len(rows), number)
                for row, want in zip(rows, wanted, strict=True):
                    found = [row["id"], row["kind"], row["advertised_bytes"], row["inline_bytes"],
                             str(int(row["moved_in_bytes"]) + int(row["moved_out_bytes"])), row["request_frame"],
                             row["request_last_frame"], row["operations"], row["data_first_frame"] or "0",
                             row["data_last_frame"] or "0", row["response_frame"], row["start_ns"],
                             *(row[part + "_ns"] for part in PARTS), row["status"]]
                    self.assertEqual(found, list(want.values()))
                # A name that is not there is no error; an opcode that the target does not have is one.
                self.assertEqual(sum(row["error"] != "" for row in rows), errors)

    def test_the_slowest_come_first(self):
        slowest = sorted(map(latency, expected()), reverse=True)[:5]
        for arguments in (["--top", "5"], ["--sort", "latency", "--top", "5"]):
            rows = self.each("-r", NVME, *arguments)
            self.assertEqual([row["latency_ns"] for row in rows], slowest)
        row = rows[0]
        frames = [row[name] for name in ("request_frame", "request_last_frame", "data_frames", "response_frame")]
        self.assertEqual(frames, [745, 745, [747, 1000], 1001])
        self.assertEqual(sum(row["parts_ns"].values()), row["latency_ns"])
        text = self.succeeds(commands("-n", "--each", "-r", NVME, "--top", "1"))
        self.assertIn("745, 747-1000 > 1001", text)
        self.assertEqual(text.count("\n"), 2)

    def test_the_other_way_round(self):
        rows = self.csv("--each", "-r", NVME, "--sort", "-bytes")
        sizes = [int(row["bytes"]) for row in rows if row["bytes"]]
        self.assertEqual(sizes, sorted(sizes))

    def test_commands_that_wait_for_events_stay_open(self):
        rows = [row for row in self.csv("--each", "-r", NVME) if row["end"] != "answered"]
        self.assertEqual([(row["kind"], row["end"], row["latency_ns"]) for row in rows],
                         [("async_event", "unanswered", "")] * 2)


class Promised(IoTestCase):
    """Names that programs rely on, and what they say."""

    CAPTURES = (NVME, PCAPS / "nfs-rdma-siw.pcap", PCAPS / "iser-rxe.pcap.gz")
    CONNECTION = {"protocol", "initiator", "target", "what", "recognised_by", "confidence", "limit", "open_mean", "open_max",
                  "phases_ns", "kinds"}
    KIND = {"kind", "commands", "errors", "bytes", "operations", "latency_ns", "parts_ns", "repair_ns"}
    COMMAND = {"connection", "protocol", "id", "kind", "target", "bytes", "request_frame", "data_frames", "response_frame",
               "start_ns", "latency_ns", "parts_ns", "repair_ns", "status", "error", "open"}

    def test_connections(self):
        for capture in self.CAPTURES:
            found = self.json("-n", "-r", capture)
            whole = json.loads(self.succeeds(run("flows", "--json", "-r", capture)))["capture"]
            self.assertEqual(found["capture"], {name: whole[name] for name in ("packets", "bytes", "first_ns", "last_ns")})
            for connection in found["connections"]:
                self.assertLessEqual(self.CONNECTION, connection.keys())
                self.assertLessEqual({"host", "request", "target", "data", "response", "repair"}, connection["phases_ns"].keys())
                for end in (connection["initiator"], connection["target"]):
                    self.assertEqual(end.keys(), {"address", "name", "qpn", "port"})
                    self.assertNotEqual(end["qpn"] is None, end["port"] is None)
                for kind in connection["kinds"]:
                    self.assertLessEqual(self.KIND, kind.keys())
                    self.assertEqual(kind["repair_ns"].keys(), {"own", "behind"})
                    self.assertEqual(tuple(kind["parts_ns"]), PARTS)
                    self.assertLessEqual({"count", "min", "mean", "p50", "p90", "p99", "p999", "max"}, kind["latency_ns"].keys())

    def test_commands(self):
        for capture in self.CAPTURES:
            rows = self.each("-r", capture)
            self.assertGreater(len(rows), 50)
            for row in rows:
                self.assertLessEqual(self.COMMAND, row.keys())
                self.assertEqual(row["repair_ns"].keys(), {"own", "behind"})

    def test_values(self):
        """Queue 1 of the second reader's commands: by their times, and by the line that tshark has of the connection."""
        connection = self.json("-n", "-r", NVME)["connections"][2]
        self.assertEqual(connection["initiator"], {"address": "192.0.2.2", "name": None, "qpn": 0x13, "port": None})
        self.assertEqual(connection["what"], "nqn.2024-01.lab:sub1, queue 1")
        latencies = [latency(row) for row in expected() if row["kind"] == "read"]
        read = next(kind for kind in connection["kinds"] if kind["kind"] == "read")
        self.assertAlmostEqual(read["latency_ns"]["mean"], sum(latencies) / len(latencies), delta=1)
        work = sum(kind["latency_ns"]["sum"] for kind in connection["kinds"] if kind["kind"] not in ("keep_alive", "async_event"))
        self.assertAlmostEqual(connection["open_mean"], work / sum(connection["phases_ns"].values()), delta=1e-9)


class Kinds(IoTestCase):
    def test_kinds_are_the_sums_of_their_commands(self):
        connections = self.json("-r", NVME)["connections"]
        self.assertEqual([connection["target_name"] for connection in connections],
                         ["nqn.2014-08.org.nvmexpress.discovery", "nqn.2024-01.lab:sub1", "nqn.2024-01.lab:sub1"])
        self.assertEqual([connection["queue"] for connection in connections], [0, 0, 1])
        self.assertEqual({connection["recognised_by"] for connection in connections}, {"private_data"})
        sums = {}
        for connection in connections:
            for kind in connection["kinds"]:
                if kind["commands"] == 0:
                    continue
                row = sums.setdefault(kind["kind"], [0] * 9)
                values = [kind["commands"], kind["moved_in_bytes"] + kind["moved_out_bytes"], kind["inline_bytes"],
                          kind["latency_ns"]["sum"], *(kind["parts_ns"][part]["sum"] for part in PARTS)]
                sums[kind["kind"]] = [one + other for one, other in zip(row, values, strict=True)]
        wanted = {}
        for want in expected():
            row = wanted.setdefault(want["kind"], [0] * 9)
            values = [1, int(want["moved"]), int(want["inline"]), latency(want), *(int(want[part + "_ns"]) for part in PARTS)]
            wanted[want["kind"]] = [one + other for one, other in zip(row, values, strict=True)]
        self.assertEqual(sums, wanted)
        kinds = {kind["kind"]: kind for kind in connections[2]["kinds"]}
        self.assertEqual(kinds["read"]["commands"], 372)
        # fio and dd: 4 of 512 B, 8 and 32 of 4 KiB in the capsule, 2 of 128 KiB fetched.
        self.assertEqual(kinds["write"]["inline_bytes"], 4 * 512 + 40 * 4096)
        self.assertEqual(kinds["write"]["moved_out_bytes"], 2 * 131072)

    def test_the_host_s_own_time_lies_between_commands(self):
        wanted = {row["response"]: row for row in expected()}
        spans = {}
        for row in self.csv("--each", "-r", NVME):
            if row["end"] == "answered" and row["kind"] not in ("keep_alive", "async_event", "null"):
                want = wanted[row["response_frame"]]
                spans.setdefault(int(row["connection"]), []).append((int(want["begin_ns"]), latency(want)))
        for connection in self.json("-r", NVME)["connections"]:
            pauses, end = [], None
            for begin, duration in sorted(spans.get(connection["connection"], [])):
                if end is not None and begin > end:
                    pauses.append(begin - end)
                end = max(end or 0, begin + duration)
            found = connection["host_next_ns"]
            self.assertEqual([found["count"], found["sum"]], [len(pauses), sum(pauses)])
            if pauses:
                self.assertEqual([found["min"], found["max"]], [min(pauses), max(pauses)])
            self.assertEqual(found["sum"], connection["phases_ns"]["host"])

    def test_csv_has_the_same(self):
        rows = self.csv("-n", "-r", NVME)
        of_json = [(connection["connection"], kind["kind"], kind["commands"], kind["latency_ns"]["sum"])
                   for connection in self.json("-r", NVME)["connections"] for kind in connection["kinds"]]
        self.assertEqual([(int(row["connection"]), row["kind"], int(row["commands"]), int(row["latency_sum_ns"])) for row in rows],
                         of_json)
        self.assertEqual({(row["initiator"], row["target"]) for row in rows if row["kind"] == "read"},
                         {("192.0.2.2/0x13", "192.0.2.1/0x13")})

    def test_the_table_is_for_people(self):
        text = self.succeeds(commands("-n", "-r", NVME))
        self.assertRegex(text, r"(?m)^nvme  192\.0\.2\.2/0x13 > 192\.0\.2\.1/0x13  nqn\.2024-01\.lab:sub1  queue 1, limit 15, "
                               r"by private data; 8\.33 s: host 82\.8 %, data 9\.0\d %, target 7\.9\d %, request 0\.1\d %; "
                               r"open 0\.2[78]\d? on average, 8 at most$")
        self.assertRegex(text, r"(?m)^read +372 +0 +7\.6\d?MiB +2\.2\dms +32\.\dms +112ms ")
        self.assertNotIn("async_event", text)

    def test_a_port_can_be_named(self):
        for assignment in ("4420=nvme", "qp:0x13=nvme"):
            connections = self.json("-r", NVME, "--as", assignment)["connections"]
            self.assertIn("user", {connection["recognised_by"] for connection in connections})
            self.assertEqual(sum(kind["commands"] for connection in connections for kind in connection["kinds"]), 463)


class Chosen(IoTestCase):
    """--filter, --columns, --sort and --top; what they choose from is compared with the other reader's commands."""

    def test_commands_that_a_filter_passes(self):
        wanted = {row["response"] for row in expected() if row["kind"] == "read" and latency(row) > 10_000_000}
        self.assertGreater(len(wanted), 3)
        rows = self.csv("--each", "-r", NVME, "--filter", 'kind == "read" && latency > 10ms')
        self.assertEqual({row["response_frame"] for row in rows}, wanted)
        of_word = self.csv("--each", "-r", NVME, "--filter", "flush")
        self.assertEqual([row["id"] for row in of_word], [row["id"] for row in expected() if row["kind"] == "flush"])
        found = self.each("-r", NVME, "--filter", 'kind == "read" && latency > 10ms')
        self.assertEqual({str(command["response_frame"]) for command in found}, wanted)

    def test_kinds_that_a_filter_passes(self):
        everything = self.csv("-n", "-r", NVME)
        many = self.csv("-n", "-r", NVME, "--filter", "commands > 10 && bytes >= 64K")
        self.assertEqual(many, [row for row in everything if int(row["commands"]) > 10 and int(row["bytes"]) >= 65536])
        self.assertGreater(len(many), 0)
        found = self.json("-n", "-r", NVME, "--filter", "kind == \"write\"")["connections"]
        self.assertEqual([[kind["kind"] for kind in connection["kinds"]] for connection in found], [["write"]] * len(found))
        writes = sum(row["kind"] == "write" for row in expected())
        self.assertEqual(sum(kind["commands"] for connection in found for kind in connection["kinds"]), writes)
        lines = self.succeeds(commands("-n", "-r", NVME, "--filter", "write")).splitlines()
        self.assertRegex(lines[0], "queue 1, limit 15, by private data$")  # the time is that of all kinds
        self.assertRegex(lines[2], "^write +46 ")
        groups = self.json("-n", "-r", NVME, "--by", "all", "--filter", "write")["groups"]
        self.assertEqual([kind["commands"] for kind in groups[0]["kinds"] if kind["kind"] == "write"], [writes])
        intervals = self.csv("-n", "-r", NVME, "--interval", "1s", "--filter", 'kind == "write"')
        self.assertEqual(sum(int(row["commands"]) for row in intervals), writes)

    def test_a_filter_that_passes_nothing(self):
        for arguments in ([], ["--each"], ["--interval", "1s"]):
            result = commands("-r", NVME, "--filter", 'kind == "erase"', *arguments)
            self.assertEqual(self.succeeds(result), "")
            self.assertIn("no command matches --filter", result.stderr)
            self.assertNotIn("no commands of an upper layer", result.stderr)

    def test_the_connection_of_a_flow(self):
        for name in (NVME, PCAPS / "nfs-rdma-siw.pcap"):
            for flow in json.loads(self.succeeds(run("flows", "--json", "-n", "-r", name)))["flows"]:
                if flow["io"] is None:
                    continue
                for number in (flow["id"], flow["reverse"]):
                    rows = self.csv("--each", "-n", "-r", name, "--flow", str(number))
                    self.assertEqual(len({row["connection"] for row in rows}), 1)
                    found = self.json("-n", "-r", name, "--flow", str(number))["connections"]
                    self.assertEqual([connection["connection"] for connection in found], [int(rows[0]["connection"])])
                    work = [kind for kind in found[0]["kinds"] if kind["kind"] not in ("async_event", "keep_alive", "null")]
                    self.assertEqual(sum(kind["commands"] for kind in work), flow["io"]["commands"])
        self.assertIn("there is no flow 999999", self.fails(commands("-r", NVME, "--flow", "999999"), 1))

    def test_a_cut_file_is_reported_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cut.pcap"
            path.write_bytes(gzip.decompress(NVME.read_bytes())[:300_001])
            flow = next(flow["id"] for flow in json.loads(run("flows", "--json", "-n", "-r", path).stdout)["flows"] if flow["io"])
            result = commands("--each", "--csv", "-n", "-r", path, "--flow", str(flow))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("cut short"), 1)
        self.assertGreater(len(result.stdout.splitlines()), 3)

    def test_columns_and_order_of_kinds(self):
        lines = self.succeeds(commands("-n", "-r", NVME, "--columns", "kind,commands,p99", "--sort", "-commands")).splitlines()
        self.assertRegex(lines[0], "^kind +commands +p99$")
        counts = [int(line.split()[-2]) for line in lines[1:]]
        self.assertEqual(counts, sorted(counts))
        rows = self.csv("-n", "-r", NVME, "--columns", "kind,latency_p99_ns", "--top", "1")
        self.assertEqual([list(row) for row in rows], [["kind", "latency_p99_ns"]])
        sums = {}
        for row in expected():
            sums[row["kind"]] = sums.get(row["kind"], 0) + latency(row)
        self.assertEqual(rows[0]["kind"], max(sums, key=sums.get))
        self.assertEqual(self.csv("-n", "-r", NVME, "--columns", "all"), self.csv("-n", "-r", NVME))

    def test_a_heading_is_the_name_of_its_column(self):
        capture = PCAPS / "iser-rxe-timeout.pcap.gz"
        for each in ([], ["--each"]):
            table = [re.split(" {2,}", line.strip()) for line in
                     self.succeeds(commands(*each, "-n", "-r", capture, "--top", "1000", "--sort", "kind")).splitlines()]
            for place, heading in enumerate(table[0]):
                if " " in heading:
                    continue
                lines = self.succeeds(commands(*each, "-n", "-r", capture, "--top", "1000", "--sort", "kind", "--columns", heading))
                self.assertEqual([line.strip() for line in lines.splitlines()], [row[place] for row in table], heading)

    def test_columns_of_commands(self):
        rows = self.csv("--each", "-r", NVME, "--columns", "id,latency,response_frame", "--sort", "latency", "--top", "5")
        wanted = sorted(expected(), key=latency, reverse=True)[:5]
        self.assertEqual([list(row.values()) for row in rows], [[row["id"], str(latency(row)), row["response"]] for row in wanted])

    def test_columns_are_listed(self):
        for each in ([], ["--each"]):
            names = self.succeeds(commands(*each, "--columns", "names")).split()
            header = self.succeeds(commands(*each, "--csv", "-r", PCAPS / "rxe-send-bw-64.pcap")).strip().split(",")
            self.assertEqual(names[-len(header):], header)
            self.assertIn("latency", self.succeeds(commands(*each, "--columns", "help")))


class Groups(IoTestCase):
    def test_groups_are_sums_of_connections(self):
        reads = {}
        for row in self.csv("-n", "-r", NVME):
            reads.setdefault(row["kind"], []).append(row)
        for by, name in (("pair", "192.0.2.2 > 192.0.2.1"), ("initiator", "192.0.2.2"), ("protocol", "nvme"), ("all", "all")):
            rows = self.csv("-n", "-r", NVME, "--by", by)
            self.assertEqual({(row["group"], row["connections"]) for row in rows}, {(name, "3")})
            for row in rows:
                for column in ("commands", "bytes", "latency_sum_ns", "target_before_ns"):
                    self.assertEqual(int(row[column] or 0), sum(int(one[column] or 0) for one in reads[row["kind"]]))
        groups = self.json("-n", "-r", NVME, "--by", "target")["groups"]
        self.assertEqual([(group["group"], group["connections"]) for group in groups],
                         [("nqn.2014-08.org.nvmexpress.discovery", 1), ("nqn.2024-01.lab:sub1", 2)])
        self.assertRegex(self.succeeds(commands("-n", "-r", NVME, "--by", "pair")), r"^nvme  192\.0\.2\.2 > 192\.0\.2\.1  3 connections; ")

    def test_ranges_of_what_is_addressed(self):
        for name, protocol in (("nvme-rdma-rxe.pcap.gz", "nvme"), ("nfs-rdma-rxe.pcap", "rpc")):
            wanted = {}
            for row in self.csv("-n", "-r", PCAPS / name, "--each"):
                first, blocks, octets = (int(row[column] or 0) for column in ("first_block", "block_count", "bytes"))
                if row["end"] != "answered" or row["first_block"] == "" or row["block_count"] != "" and octets == 0:
                    continue
                gib = (first * (octets // blocks) if blocks else first) >> 30
                key = (row["target"], f"{gib} to {gib + 1} GiB", row["kind"])
                count, latency_ns = wanted.get(key, (0, 0))
                wanted[key] = (count + 1, latency_ns + int(row["latency_ns"]))
            found = {}
            rows = self.csv("-n", "-r", PCAPS / name, "--by", "lba")
            for row in rows:
                _, target, gib = row["group"].split("  ")
                found[target, gib, row["kind"]] = (int(row["commands"]), int(row["latency_sum_ns"]))
            self.assertEqual(found, wanted)
            self.assertEqual({row["protocol"] for row in rows}, {protocol})
        self.assertRegex(self.succeeds(commands("-n", "-r", NVME, "--by", "lba")),
                         r"^nvme  nqn\.2024-01\.lab:sub1  ns 1  0 to 1 GiB  1 connection\nkind +commands ")

    def test_ranges_have_errors_and_operations(self):
        # tests/unit/upper/made-smb.tsv: the only error of a command with an address is of a WRITE of 100 bytes at 0, "disk full".
        kinds = {}
        for group in self.json("-n", "-r", PCAPS / "made-smb.pcap", "--by", "lba")["groups"]:
            self.assertEqual(group["operations"], group["unbound_operations"] + sum(kind["operations"] for kind in group["kinds"]))
            for kind in group["kinds"]:
                if kind["errors"]:
                    kinds[kind["kind"]] = (kind["error_classes"], kind["statuses"], len(kind["slowest"]))
        self.assertEqual({name: kind[:2] for name, kind in kinds.items()}, {"write": ({"device": 1}, {"STATUS_DISK_FULL": 1})})
        self.assertGreaterEqual(kinds["write"][2], 1)
        # Every operation of the capture belongs to a command of one range.
        groups = self.json("-n", "-r", NVME, "--by", "lba")["groups"]
        rows = [row for row in self.csv("-n", "-r", NVME, "--each") if row["end"] == "answered" and row["first_block"] != ""]
        self.assertEqual(sum(group["operations"] for group in groups), sum(int(row["operations"]) for row in rows))
        self.assertGreater(sum(group["operations"] for group in groups), 300)


class Intervals(IoTestCase):
    def test_they_sum_to_the_whole(self):
        whole = {(row["connection"], row["kind"]): row for row in self.csv("-n", "-r", NVME) if row["commands"] != "0"}
        rows = self.csv("-n", "-r", NVME, "--interval", "1s")
        self.assertGreater(len({row["interval_start_ns"] for row in rows}), 5)
        sums = {}
        for row in rows:
            self.assertEqual((int(row["interval_start_ns"]) % 10**9, row["interval_length_ns"]), (0, "1000000000"))
            sums.setdefault((row["connection"], row["kind"]), []).append(row)
        self.assertEqual(list(sorted(sums)), list(sorted(whole)))
        for key, parts in sums.items():
            for name in ("commands", "bytes", "moved_in_bytes", "latency_sum_ns", "data_ns"):
                self.assertEqual(sum(int(part[name] or 0) for part in parts), int(whole[key][name] or 0), (key, name))

    def test_commands_are_in_the_interval_of_their_response(self):
        ends = {}
        for want in expected():
            second = (int(want["begin_ns"]) + latency(want)) // 10**9
            ends[second] = ends.get(second, 0) + 1
        intervals = self.json("-r", NVME, "--interval", "1s")["intervals"]
        found = {each["start_ns"] // 10**9: sum(kind["commands"] for connection in each["connections"] for kind in connection["kinds"])
                 for each in intervals}
        # A response whose acknowledgement comes after the end of the interval is one of the next.
        self.assertLessEqual(sum(abs(found.get(second, 0) - count) for second, count in ends.items()), 2)

    def test_they_can_be_grouped(self):
        for by in ("all", "lba"):
            whole = {(row["group"], row["kind"]): row for row in self.csv("-n", "-r", NVME, "--by", by) if row["commands"] != "0"}
            sums = {}
            for row in self.csv("-n", "-r", NVME, "--by", by, "--interval", "1s"):
                sums.setdefault((row["group"], row["kind"]), []).append(row)
            self.assertEqual(sorted(sums), sorted(whole))
            for key, parts in sums.items():
                for name in ("commands", "bytes", "latency_sum_ns"):
                    self.assertEqual(sum(int(part[name]) for part in parts), int(whole[key][name]), (key, name))
        intervals = self.json("-n", "-r", NVME, "--by", "protocol", "--interval", "1s")["intervals"]
        self.assertEqual({group["group"] for each in intervals for group in each["groups"]}, {"nvme"})
        lines = self.succeeds(commands("-n", "-r", NVME, "--by", "pair", "--interval", "1s")).splitlines()
        self.assertRegex(lines[0], "^ *interval +protocol +group +kind +commands ")
        self.assertRegex(lines[1], r"^[0-9:]{8}\.000 +nvme +192\.0\.2\.2 > 192\.0\.2\.1 ")

    def test_the_table_begins_with_the_time(self):
        lines = self.succeeds(commands("-n", "-r", NVME, "--interval", "1s")).splitlines()
        self.assertRegex(lines[0], "^ *interval +protocol +initiator > target +kind +commands +errors ")
        self.assertRegex(lines[1], r"^[0-9:]{8}\.000 +nvme +192\.0\.2\.2/0x11 > 192\.0\.2\.1/0x11 ")


def sums_of_io(capture):
    """Commands, errors and the sum of latencies of each initiator, as `io` has them."""
    connections = json.loads(run("io", "--json", "-n", "-r", capture).stdout)["connections"]
    sums = {}
    for connection in connections:
        kinds = [kind for kind in connection["kinds"] if kind["kind"] not in ("async_event", "keep_alive", "null")]
        ends = tuple((end["address"], end["qpn"], end["port"]) for end in (connection["initiator"], connection["target"]))
        sums[ends] = (connection["protocol"], sum(kind["commands"] for kind in kinds), sum(kind["errors"] for kind in kinds),
                      sum(kind["latency_ns"]["sum"] for kind in kinds), connection["open_max"], connection["limit"])
    return sums


CAPTURES = ("nvme-rdma-rxe.pcap.gz", "nfs-rdma-rxe.pcap", "nfs-rdma-siw.pcap", "iser-rxe.pcap.gz", "srp-rxe.pcap.gz")


class InFlows(IoTestCase):
    """`flows` and `why` read the commands that `io` reads."""

    def flows(self, capture, *arguments):
        return json.loads(self.succeeds(run("flows", "--json", "-n", "-r", capture, *arguments)))["flows"]

    def test_they_are_those_of_io(self):
        for name in CAPTURES:
            with self.subTest(capture=name):
                wanted = sums_of_io(PCAPS / name)
                found = {}
                for flow in self.flows(PCAPS / name):
                    if flow["io"] is None:
                        continue
                    ends = tuple((flow[end]["address"], flow[end]["qpn"], flow[end]["port"]) for end in ("source", "destination"))
                    io = flow["io"]
                    self.assertEqual(sum(io["parts_ns"].values()), round(io["latency_ns"]["mean"] * io["latency_ns"]["count"])
                                     if io["latency_ns"]["count"] else 0)
                    found[ends] = (flow["upper"], io["commands"], io["errors"], sum(io["parts_ns"].values()), io["open"], io["limit"])
                self.assertEqual(found, wanted)

    def test_the_upper_layer_can_be_named(self):
        def found(*arguments):
            return sum(flow["io"]["commands"] for flow in self.flows(NVME, *arguments) if flow["io"])

        # A queue pair alone, without the set-up: of the host, and of the target. One connection is named, all are found.
        whole = found()
        for assignment in ("4420=nvme", "qp:0x13=nvme"):
            self.assertEqual(found("--as", assignment), whole)
        self.assertIn("PORT=PROTOCOL", self.fails(run("flows", "-r", NVME, "--as", "x=nvme"), 2))

    def test_both_flows_name_the_upper_layer(self):
        flows = self.flows(PCAPS / "nvme-rdma-rxe.pcap.gz")
        named = [flow for flow in flows if flow["upper"] is not None]
        self.assertEqual({flow["upper"] for flow in named}, {"nvme"})
        self.assertEqual(len(named), 2 * sum(flow["io"] is not None for flow in named))
        text = self.succeeds(run("flows", "-n", "-r", NVME))
        self.assertRegex(text, r"(?m)^ *id .* upper$")
        self.assertNotIn("upper", self.succeeds(run("flows", "-n", "-r", PCAPS / "rxe-write-bw-64k.pcap")))

    def test_columns_and_order(self):
        table = self.succeeds(run("flows", "-n", "-r", NVME, "--columns", "upper,io.commands,io.latency_p99_ns,io.target_share",
                                  "--sort", "io.commands"))
        lines = table.splitlines()
        self.assertRegex(lines[0], r"^upper +commands +command p99 ns +target$")
        self.assertRegex(lines[1], r"^nvme +421 +")
        rows = list(csv.DictReader(io.StringIO(self.succeeds(run("flows", "-n", "-r", NVME, "--csv", "--columns", "io.parts_ns")))))
        self.assertEqual(list(rows[0]), [f"io.parts_ns.{part}" for part in PARTS])

    def test_why_asks_about_them(self):
        for name in CAPTURES:
            answers = json.loads(self.succeeds(run("why", "--json", "-n", "-r", PCAPS / name)))["answers"]
            questions = [answer["question"] for answer in answers]
            with self.subTest(capture=name):
                self.assertIn("commands", questions)
                answer = answers[questions.index("commands")]
                self.assertFalse(answer["alarm"], answer["summary"])
        answer = next(answer for answer in json.loads(self.succeeds(run("why", "--json", "-n", "-r", NVME)))["answers"]
                      if answer["question"] == "commands")
        self.assertEqual(answer["verdict"], "target_queueing")
        slowest = next(figure for figure in answer["evidence"] if figure["what"] == "slowest command")
        # The slowest read of the reader written apart.
        row = max(expected(), key=latency)
        self.assertEqual((slowest["value"], slowest["frames"]),
                         (latency(row), [int(row[name]) for name in ("request_last", "data_first", "data_last", "response")]))
        page = self.succeeds(run("why", "-n", "-r", NVME))
        self.assertRegex(page, r"(?m)^commands +target_queueing: Reads of 192\.0\.2\.2 at 192\.0\.2\.1 \(NVMe,\s+nqn")
        answers = json.loads(self.succeeds(run("why", "--json", "-n", "-r", PCAPS / "rxe-write-bw-64k.pcap")))["answers"]
        self.assertNotIn("commands", [answer["question"] for answer in answers])


class Usage(IoTestCase):
    def test_contradictions_are_explained(self):
        for arguments, words in ((["-r", NVME, "--sort", "latncy"], "no such column; columns are protocol"),
                                 (["-r", NVME, "--columns", "kind,comands"], "did you mean 'commands'"),
                                 (["-r", NVME, "--filter", "comands > 3"], "commands"),
                                 (["-r", NVME, "--filter", "commands >"], "--filter commands >"),
                                 (["-r", NVME, "--filter", "p99 > many"], "a time such as 250us"),
                                 (["-r", NVME, "--json", "--top", "3"], "JSON is in the order of connections"),
                                 (["-r", NVME, "--json", "--each", "--columns", "id"], "JSON has all"),
                                 (["-r", NVME, "--by", "pair", "--sort", "p99"], "its own columns and order"),
                                 (["-r", "-", "--flow", "1"], "can be read once"),
                                 (["-i", "lo", "--flow", "1"], "have no IDs yet"),
                                 (["-r", NVME, "--by", "lba", "--filter", "read"], "--by lba and --filter"),
                                 (["-r", NVME, "--each", "--sort", "latncy"], "latency"),
                                 (["-r", NVME, "--json", "--csv"], "one or the other"),
                                 (["-r", NVME, "-i", "lo"], "one or the other"),
                                 (["-r", NVME, "--by", "pair", "--each"], "rows are groups, or single commands"),
                                 (["-r", NVME, "--by", "host"], "pair, initiator, target, protocol, all or lba"),
                                 (["-r", NVME, "--each", "--interval", "1s"], "--each and --interval"),
                                 (["-r", NVME, "--as", "4420=scsi"], "protocols: nvme, rpc"),
                                 (["-r", NVME, "--as", "70000=nvme"], "PORT=PROTOCOL"),
                                 (["-r", NVME, "--as", "qp:0x1000000=nvme"], "PORT=PROTOCOL")):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.fails(commands(*arguments), 2))

    def test_a_file_needs_no_option(self):
        named = self.succeeds(commands("-r", NVME))
        self.assertEqual(self.succeeds(commands(NVME)), named)
        self.assertEqual(self.succeeds(commands(NVME, "udp")), named)
        message = self.fails(commands("udp"), 2)
        self.assertIn("no source given", message)
        self.assertNotIn("udp", message)

    def test_a_file_that_is_not_there(self):
        self.fails(commands("-r", "/nonexistent.pcap"))

    def test_a_capture_without_commands(self):
        result = commands("-r", PCAPS / "rxe-send-bw-64.pcap")
        self.assertEqual(self.succeeds(result), "")
        self.assertIn("no commands", result.stderr)
        self.assertEqual(self.json("-r", PCAPS / "rxe-send-bw-64.pcap")["connections"], [])
        self.assertEqual(self.each("-r", PCAPS / "rxe-send-bw-64.pcap"), [])

    def test_an_expression_selects(self):
        nothing = {"packets": 0, "bytes": 0, "first_ns": None, "last_ns": None}
        self.assertEqual(self.json("-r", NVME, "tcp"), {"capture": nothing, "connections": []})
        self.fails(commands("-r", NVME, "bogus ["), 2)


class Dump(TestCase):
    def test_lines_stand_below_the_packets_that_complete_messages(self):
        lines = self.succeeds(dump("-n", "-#", "-r", NVME)).splitlines()
        below = {int(lines[i - 1].split()[0]): line.split() for i, line in enumerate(lines) if line.startswith("      ") and
                 not line.split()[0].isdigit()}
        self.assertEqual(below[745], "NVMe Read q 1 cid 0x800b ns 1 lba 520 blocks 504 len 258048 key 0x000044af".split())
        self.assertEqual(below[747], "NVMe data in cid 0x800b 0..131072 of 258048".split())
        self.assertEqual(below[1001], "NVMe Read done cid 0x800b Success sqhd 4 in 112 ms: target 3.88 ms, data 108 ms, "
                                      "target 56.0 us; asked in frame 745".split())
        # One line a request, a response, and a READ or WRITE.
        of_messages = [line for line in below.values() if line[0] == "NVMe"]
        self.assertEqual(len(of_messages), 465 + 463 + 404)
        quiet = self.succeeds(dump("-n", "-q", "-r", NVME))
        self.assertNotIn("NVMe", quiet)

    def test_the_lines_of_commands_alone(self):
        whole = self.succeeds(dump("-n", "-#", "-r", NVME)).splitlines()
        below = [line.strip() for line in whole if line.startswith(" " * 16)]
        alone = self.succeeds(dump("-n", "-#", "--io", "-r", NVME)).splitlines()
        self.assertEqual([re.sub(r"^.*? 192\.0\.2\.[12] > 192\.0\.2\.[12] +", "", line) for line in alone], below)
        asked = next(line for line in alone if line.lstrip().startswith("745 "))
        self.assertRegex(asked, r"^ *745  [0-9:.]+ 192\.0\.2\.2 > 192\.0\.2\.1 +NVMe Read +q 1 cid 0x800b ns 1 lba 520 ")
        for arguments in (["-V"], ["-q"], ["--all"], ["-T", "json"]):
            self.assertIn("--io", self.fails(dump("--io", "-r", NVME, *arguments), 2))

    def test_the_upper_layer_can_be_named(self):
        fields = ["-T", "fields", "-e", "rdma.ulp", "-e", "rdma.ulp.by"]
        self.assertEqual(self.succeeds(dump("-n", "-c", "1", "-r", NVME, "-Y", "rdma.io", *fields)), "nvme\tprivate_data\n")
        named = self.succeeds(dump("-n", "-r", NVME, "--as", "4420=nvme", "-Y", "rdma.io", *fields)).splitlines()
        self.assertEqual(set(named), {"nvme\tuser"})
        message = self.fails(dump("-r", NVME, "--as", "4420=scsi"), 2)
        names = re.search(r"\(protocols: (.*?)\)", message)[1]
        self.assertEqual(names, "nvme, rpc, srp, iser, smb, ipoib, rds, rsocket")
        for command in ("dump", "flows", "io"):
            self.assertIn(f"as PROTOCOL: {names}; repeatable", " ".join(self.succeeds(run("help", command)).split()))

    def test_lines_of_other_protocols(self):
        for file, words in (("nfs-rdma-rxe.pcap", "NFSv4 READ xid 0x9ec1ec6d fh 0x9a1d2fd1 offset 65536 len 131072 key 0x00000a61"),
                            ("iser-rxe.pcap.gz", "iSER INQUIRY tag 0x01000000 lun 0 len 36 key 0x000003bd"),
                            ("srp-rxe.pcap.gz", "SRP REPORT LUNS tag 0x0b00000000000000 lun 0 len 4096"),
                            ("smbdirect-rxe.pcap", "SMB2 Tree Connect done mid 3 STATUS_BAD_NETWORK_NAME in 8.81 ms: target 8.81 ms; asked in frame 24"),
                            ("made-smb.pcap", "SMB2 Read mid 4 tid 5 offset 65536 len 6000 key 0x000004f1"),
                            ("made-smb.pcap", "SMB2 Lock pending mid 11 tid 5 asked in frame 60"),
                            ("made-smb.pcap", "SMB2 encrypted session 0x0000004400000001 len 120"),
                            ("made-erf-ipoib.pcap", "IPoIB ARP 10.10.0.2 is at qp 0x000049 gid fe80::2:c903:0:2"),
                            ("rds-rxe.pcap", "RDS datagram seq 5 4001 > 4000 len 4100"),
                            ("made-rds.pcap", "RDS congestion map congested 1 of the first 8832 ports"),
                            ("made-rsocket.pcap", "rsockets data 1096 window 0")):
            lines = [" ".join(line.split()) for line in self.succeeds(dump("-n", "-r", PCAPS / file)).splitlines()]
            self.assertTrue(any(line.startswith(words) for line in lines), words)

    def test_filters_of_other_protocols(self):
        # tshark: the same filters, without what it does not put together
        for file, condition, number in (("nfs-rdma-rxe.pcap", "nfs.opcode == 25 && rpc.msgtyp == 0", 4),
                                        ("iser-rxe.pcap.gz", "scsi_sbc.opcode == 0x28", 158),
                                        ("iser-rxe.pcap.gz", "scsi.sns.key == 5", 1),
                                        ("srp-rxe.pcap.gz", "scsi_sbc.opcode == 0x2a", 14),
                                        ("smbdirect-rxe.pcap", "smb2.nt_status == 0xc00000cc", 2),
                                        ("made-smb.pcap", "smb2.buffer_descriptor.token == 0x4f2", 1),
                                        ("made-smb.pcap", "smb_direct.remaining_length > 0", 3),
                                        ("made-erf-ipoib.pcap", "ipoib.type == 0x0800 && ip.proto == 6", 1),
                                        ("made-erf-ipoib.pcap", "rdma.ipoib.sender.qpn == 0x49", 1),
                                        ("rds-rxe.pcap", "rdma.rds.length == 4100", 4),
                                        ("made-rds.pcap", "rdma.rds.rdma.key == 0x7700", 2),
                                        ("made-rsocket.pcap", "rdma.rsocket.operation == 7", 3)):
            found = self.succeeds(dump("-r", PCAPS / file, "-Y", condition, "-T", "fields", "-e", "frame.number")).split()
            self.assertEqual(len(found), number, condition)

    def test_filters_and_fields_know_commands(self):
        slow = [row for row in expected() if latency(row) > 100_000_000]
        self.assertGreater(len(slow), 0)
        found = self.succeeds(dump("-r", NVME, "-Y", 'rdma.io.latency > 0.1', "-T", "fields", "-e", "frame.number",
                                   "-e", "rdma.io.request_in", "-e", "rdma.io.kind", "-e", "rdma.io.latency")).splitlines()
        self.assertEqual(found, [f"{row['response']}\t{row['request_last']}\t{row['kind']}\t{latency(row) / 1e9:.9f}" for row in
                                 sorted(slow, key=lambda row: int(row["response"]))])
        writes = self.succeeds(dump("-r", NVME, "-Y", 'rdma.io.role == "request" && rdma.io.kind == "write"', "-T", "fields",
                                    "-e", "frame.number")).split()
        self.assertEqual(writes, sorted((row["request_last"] for row in expected() if row["kind"] == "write"), key=int))

    def test_trees_have_wireshark_s_names(self):
        tree = self.succeeds(dump("-V", "-r", NVME, "-Y", "frame.number == 745"))
        for line in ("NVM Express", "Start LBA: 0x0000000000000208", "Absolute Number of Logical Blocks: 504", "Length: 258048",
                     "Descriptor Type: Keyed Data Block"):
            self.assertIn(line, tree)
        document = json.loads(self.succeeds(dump("-T", "json", "-r", NVME, "-Y", "frame.number == 1001")))
        self.assertEqual(document[0]["_source"]["layers"]["nvme"]["nvme.cqe.cid"], "0x800b")

    @needs("editcap")
    def test_headers_alone_are_truncated_not_malformed(self):
        plain = self.folder / "plain.pcap"
        cut = self.folder / "cut.pcap"
        self.succeeds(dump("-r", NVME, "-w", plain))
        subprocess.run(["editcap", "-F", "pcap", "-s", "96", plain, cut], check=True)
        text = self.succeeds(dump("-n", "-v", "-r", cut))
        self.assertIn("NVMe Read", text)
        self.assertNotIn("malformed", text)
        self.assertRegex(text, r"NVMe Read .*\[truncated: .* needs 64 bytes")


if __name__ == "__main__":
    unittest.main()
