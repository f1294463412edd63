"""`tshark -z rdma,...`: response times, filters and Expert Information. What `rdma,flows` and `rdma,why` print is compared with the
fields of each capture."""
import collections
import csv
import json
import re
import unittest

from plugged import ROOT, TestCase, capture, faults, rdmascope, tshark


class Statistics(TestCase):
    def statistics(self, path, *options):
        result = tshark("-n", "-q", "-r", path, *(word for option in options for word in ("-z", option)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([], faults(result))
        return result.stdout

    def test_srt_counts_what_the_flows_count(self):
        for name in ("rxe-read-bw-4k", "rxe-verbs-mix", "siw-verbs-mix"):
            with self.subTest(capture=name):
                flows = json.loads(rdmascope("flows", "--json", "-r", capture(name)))["flows"]
                heading, *rows = self.statistics(capture(name), "rdma,srt").splitlines()
                self.assertEqual("OPERATION", heading.split()[0])
                found = {row.split()[0]: int(row.split()[1].replace(",", "")) for row in rows if "first response" not in row}
                expected = {o: sum(f["messages"][o]["count"] for f in flows) for o in flows[0]["messages"]}
                self.assertEqual({o: n for o, n in expected.items() if n}, found)

    def test_io_counts_what_a_reader_written_apart_found(self):
        for name in ("nvme-rdma-rxe", "nfs-rdma-siw"):
            with self.subTest(capture=name):
                lines = [line for line in (ROOT / f"tests/unit/upper/{name}.tsv").read_text().splitlines() if line[0] != "#"]
                expected = collections.Counter(row["kind"] for row in csv.DictReader(lines, delimiter="\t"))
                heading, *rows = self.statistics(capture(name), "rdma,io").splitlines()
                self.assertEqual(["PROTOCOL", "INITIATOR", ">", "TARGET", "KIND", "COMMANDS"], heading.split()[:6])
                found = collections.Counter()
                for row in rows:
                    # Ends hold no blanks but around `>`.
                    kind, commands = row.split(" > ")[1].split()[1:3]
                    found[kind] += int(commands.replace(",", ""))
                self.assertEqual(expected, found)

    def test_commands_have_expert_information(self):
        # Two Async Events stay open, which is no fault; the errors are those of the flows.
        result = tshark("-n", "-q", "-2", "-r", capture("iser-rxe"), "-z", "expert")
        flows = json.loads(rdmascope("flows", "--json", "-r", capture("iser-rxe")))["flows"]
        errors = sum(f["io"]["errors"] for f in flows if f["io"])
        counts = re.findall(r"(?m)^ +(\d+) +Response +RDMA +The command ended with an error: ", result.stdout)
        self.assertEqual(sum(map(int, counts)), errors)
        self.assertGreater(errors, 0)
        self.assertNotIn("no answer to the command", tshark("-n", "-q", "-2", "-r", capture("nvme-rdma-rxe"), "-z", "expert").stdout)

    def test_a_filter_chooses_the_flows(self):
        path = capture("rxe-loss1pct-send-bw")
        rows = self.statistics(path, "rdma,flows,rdma.nak").splitlines()
        # The NAKs are packets of the receiver's flow, about the sender's.
        ids = {f["reverse"] for f in json.loads(rdmascope("flows", "--json", "-r", path))["flows"] if sum(f["naks"].values())}
        self.assertEqual({str(i) for i in ids}, {row.split()[0] for row in rows[1:]} & {str(i) for i in ids})

    def test_a_wrong_filter_is_told(self):
        result = tshark("-n", "-q", "-r", capture("rxe-rping"), "-z", "rdma,flows,no.such.field")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no.such.field", result.stderr)

    def test_expert_information_is_a_diagnosis(self):
        result = tshark("-n", "-q", "-r", capture("rxe-loss1pct-send-bw"), "-z", "expert")
        flows = json.loads(rdmascope("flows", "--json", "-r", capture("rxe-loss1pct-send-bw")))["flows"]
        naks = sum(f["naks"]["psn_sequence_error"] for f in flows)
        again = sum(f["retransmitted_packets"] or 0 for f in flows)
        self.assertRegex(result.stdout, rf"(?m)^ +{naks} +Response +RDMA +Negative acknowledgement: psn_sequence_error$")
        self.assertRegex(result.stdout, rf"(?m)^ +{again} +Sequence +RDMA +Retransmission$")


if __name__ == "__main__":
    unittest.main()
