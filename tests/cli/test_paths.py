"""Entropies between hosts: the table, JSON, CSV and intervals. Packets and bytes of UDP source ports are those that
tshark finds."""
import collections
import csv
import io
import json
import unittest

from command import PCAPS, TestCase, needs, run, tshark

CAPTURES = ("nvme-rdma-rxe.pcap.gz", "rxe-ucmatose.pcap", "rxe-write-bw-4k-ipv6.pcap.gz", "rxe-write-bw-64k-tos.pcap")
MANAGEMENT_QP = 1


def paths(*arguments):
    return run("paths", "-n", *arguments)


def found_by_tshark(capture):
    """(source, destination, DSCP, port) -> [packets, bytes], without connection management."""
    fields = ["ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "ip.dsfield.dscp", "ipv6.tclass.dscp", "udp.srcport",
              "infiniband.bth.destqp", "frame.len"]
    lines = tshark("-r", capture, "-Y", "infiniband.bth", "-T", "fields", "-E", "separator=;",
                   *(word for field in fields for word in ("-e", field)), check=True).stdout.splitlines()
    sums = collections.defaultdict(lambda: [0, 0])
    for line in lines:
        source, source6, destination, destination6, dscp, dscp6, port, queue_pair, length = line.split(";")
        if int(queue_pair, 16) <= MANAGEMENT_QP:
            continue
        entry = sums[source or source6, destination or destination6, int(dscp or dscp6), int(port)]
        entry[0] += 1
        entry[1] += int(length)
    return dict(sums)


def rows_of(pairs):
    return {(pair["source"]["address"], pair["destination"]["address"], pair["traffic_class"],
             row["parts"]["udp_port"]): [row["packets"], row["bytes"]] for pair in pairs for row in pair["rows"]}


class Paths(TestCase):
    def json(self, *arguments):
        return json.loads(self.succeeds(paths("--json", *arguments)))

    @needs("tshark")
    def test_ports_carry_what_tshark_finds(self):
        for name in CAPTURES:
            with self.subTest(capture=name):
                pairs = self.json("-r", PCAPS / name)["pairs"]
                self.assertEqual(rows_of(pairs), found_by_tshark(PCAPS / name))
                for pair in pairs:
                    self.assertEqual(pair["entropies"], len(pair["rows"]))
                    self.assertEqual(pair["bytes"], sum(row["bytes"] for row in pair["rows"]))

    def test_figures_follow_from_the_rows(self):
        for pair in self.json("-r", PCAPS / CAPTURES[0], "--paths", "4")["pairs"]:
            carried = [row["bytes"] for row in pair["rows"]]
            squares = sum(x * x for x in carried)
            self.assertAlmostEqual(pair["effective"], sum(carried) ** 2 / squares)
            self.assertAlmostEqual(pair["fairness"], pair["effective"] / len(carried))
            self.assertAlmostEqual(pair["max_over_mean"], max(carried) * len(carried) / sum(carried))
            self.assertEqual(list(pair["expected"]), ["4"])
            share = squares / sum(carried) ** 2
            self.assertAlmostEqual(pair["expected"]["4"]["fairness"], 1 / (1 + 3 * share))

    def test_csv_has_the_rows_of_json(self):
        document = self.json("-r", PCAPS / CAPTURES[0])
        rows = list(csv.DictReader(io.StringIO(self.succeeds(paths("--csv", "-r", PCAPS / CAPTURES[0])), newline="")))
        self.assertEqual([(row["source"], row["destination"], row["entropy"], int(row["packets"]), int(row["bytes"]))
                          for row in rows],
                         [(pair["source"]["address"], pair["destination"]["address"], row["entropy"], row["packets"],
                           row["bytes"]) for pair in document["pairs"] for row in pair["rows"]])

    def test_intervals_add_up(self):
        whole = rows_of(self.json("-r", PCAPS / CAPTURES[0])["pairs"])
        sums = collections.defaultdict(lambda: [0, 0])
        for line in self.succeeds(paths("--json", "--interval", "1s", "-r", PCAPS / CAPTURES[0])).splitlines():
            for key, (packets, carried) in rows_of(json.loads(line)["pairs"]).items():
                sums[key][0] += packets
                sums[key][1] += carried
        self.assertEqual(dict(sums), whole)

    def test_the_table_shows_pairs_and_rows(self):
        text = self.succeeds(paths("-r", PCAPS / CAPTURES[0], "--top", "1"))
        self.assertIn("192.0.2.", text.splitlines()[0])
        self.assertIn("effective", text.splitlines()[0])
        self.assertIn("if hashed over", text)

    def test_mistakes_are_usage(self):
        self.assertIn("one or the other", self.fails(paths("--json", "--csv", "-r", PCAPS / CAPTURES[0]), 2))
        self.assertIn("--paths", self.fails(paths("--paths", "0", "-r", PCAPS / CAPTURES[0]), 2))


if __name__ == "__main__":
    unittest.main()
