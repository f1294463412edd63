"""Names of an InfiniBand subnet from captured management datagrams: the capture is of opensm and its clients on a simulated subnet, and
says in its JSON which node has which LID, as ibnetdiscover found it there."""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from command import PCAPS, needs, run

CAPTURE = PCAPS / "ibsim-subnet.pcap.gz"
TRUTH = json.loads((PCAPS / "ibsim-subnet.json").read_text(encoding="utf-8"))
NAMES = {int(lid): name for lid, name in TRUTH["names"].items()}
MANAGER, CLIENT = 1, next(lid for lid, name in NAMES.items() if name == "node03 mlx5_0")


def rdmascope(*arguments, status=0):
    """What the command prints: on standard output, or on standard error if it fails as expected."""
    result = run(*arguments)
    if result.returncode != status:
        raise AssertionError(f"{arguments}: {result.returncode} {result.stdout[-1000:]}{result.stderr}")
    return result.stdout if status == 0 else result.stderr


def lines(*arguments):
    return rdmascope("dump", "-r", CAPTURE, *arguments).splitlines()


def manager_guid(kind):
    """As saquery printed it; the manager's record is the first."""
    return re.search(rf"{kind}\.+(0x[0-9a-f]+)", TRUTH["commands"][0]["output"])[1]


class Dump(unittest.TestCase):
    def test_names_are_those_that_ibnetdiscover_found(self):
        shown = {}
        for line in lines("-t"):
            for name, lid in re.findall(r"(?:^| > )([^>]*?) \(lid (\d+)\)", line):
                shown.setdefault(int(lid), set()).add(name.strip())
        self.assertEqual(shown[CLIENT], {NAMES[CLIENT]})
        self.assertEqual(shown[MANAGER], {NAMES[MANAGER]})

    def test_numbers(self):
        text = "\n".join(lines("-n", "-t"))
        self.assertIn(f"lid {CLIENT} > lid {MANAGER}", text)
        self.assertNotIn(f"(lid {CLIENT})", text)

    def test_last_segments_count_the_records(self):
        """What opensm answered: 56 bytes of header, then the records, before a kernel made segments of it."""
        numbered = {int(line.split()[0]): line for line in lines("-n", "-t", "-#")}
        self.assertTrue(TRUTH["answers"])
        for answer in TRUTH["answers"]:
            with self.subTest(answer):
                line = numbered[answer["last_frame"]]
                self.assertIn(f'segment {answer["segments"]} of {answer["segments"]}, in all {answer["records"]} records', line)
                self.assertNotIn("not captured", line)
                first = numbered[answer["last_frame"] - answer["segments"] + 1]
                self.assertIn(f'segment 1 of {answer["segments"]}', first)

    def test_every_record_is_shown_once(self):
        """Records inside of segments, and across them: the 20 nodes of the answer are those of ibnetdiscover."""
        output = rdmascope("dump", "-r", CAPTURE, "-Y", "infiniband.mad.method == 0x92 && infiniband.mad.attributeid == 0x11",
                           "-T", "fields", "-e", "infiniband.nodedescription.nodestring", "-e", "rdma.mad.record")
        rows = [line.split("\t") for line in output.splitlines()]
        found = [name for row in rows for name in row[0].split(",") if name]
        numbers = [int(number) for row in rows for number in row[1].split(",") if number]
        self.assertEqual(sorted(found), sorted(NAMES.values()))
        self.assertEqual(sorted(numbers), list(range(len(NAMES))))

    def test_records_across_segments(self):
        """A NodeRecord has 112 bytes (108, and four to a multiple of eight), a segment 200: record 1 ends in segment 2."""
        text = rdmascope("dump", "-r", CAPTURE, "-v", "-n", "-t", "-Y", "infiniband.mad.attributeid == 0x11 && infiniband.rmpp.segmentnumber == 2")
        self.assertRegex(text, r"segment 2 of 12\b")
        self.assertRegex(text, r"(?m)^    record 1, in several segments: (channel adapter|switch) ports ")

    @needs("editcap")
    def test_a_lost_segment(self):
        answer = TRUTH["answers"][0]
        lost = answer["last_frame"] - 5
        with tempfile.TemporaryDirectory() as folder:
            rest = pathlib.Path(folder) / "rest.pcap"
            subprocess.run(["editcap", CAPTURE, rest, str(lost)], check=True, capture_output=True)
            text = rdmascope("dump", "-r", rest, "-n", "-t", "-Y", "infiniband.mad.method == 0x92 && infiniband.mad.attributeid == 0x11")
        self.assertIn(f'in all {answer["records"]} records, 1 segment not captured', text)


class Analysis(unittest.TestCase):
    def test_flows_have_the_names_of_their_ends(self):
        flows = json.loads(rdmascope("flows", "-r", CAPTURE, "--json"))["flows"]
        ends = [end for flow in flows for end in (flow["source"], flow["destination"]) if end["address"].startswith("lid ")]
        named = {end["address"]: end["name"] for end in ends}
        self.assertEqual(named[f"lid {CLIENT}"], NAMES[CLIENT])
        for address, name in named.items():
            self.assertEqual(name, NAMES.get(int(address.split()[1])), address)

    @needs("editcap")
    def test_each_kind_of_answer_is_enough(self):
        """The connection at the end of the capture, after answers on directed routes alone; after one answer of Subnet Administration; after
        those of smpquery, which asks the client by its LID, and of the manager has no more than its GUID (SMInfo)."""
        first_answer = TRUTH["answers"][0]
        begin = first_answer["last_frame"] - first_answer["segments"] + 1
        connection = f'{TRUTH["frames"] - 15}-{TRUTH["frames"]}'
        by_lid = f'{TRUTH["answers"][-1]["last_frame"] + 1}-{TRUTH["frames"] - 16}'
        both, client = {NAMES[CLIENT], NAMES[MANAGER]}, {NAMES[CLIENT], manager_guid("port_guid")}
        for frames, expected in ((f"1-{begin - 2}", both), (f'{begin}-{first_answer["last_frame"]}', both), (by_lid, client)):
            with self.subTest(frames), tempfile.TemporaryDirectory() as folder:
                rest = pathlib.Path(folder) / "rest.pcap"
                subprocess.run(["editcap", "-r", CAPTURE, rest, frames, connection], check=True, capture_output=True)
                flows = json.loads(rdmascope("flows", "-r", rest, "--json"))["flows"]
                self.assertEqual({flow["source"]["name"] for flow in flows}, expected)

    def test_any_number_of_threads_finds_the_same(self):
        one, four = (rdmascope("flows", "-r", CAPTURE, "--json", "--threads", count) for count in ("1", "4"))
        self.assertEqual(one, four)

    def test_tables_have_name_and_number(self):
        self.assertIn(f"{NAMES[CLIENT]} (lid {CLIENT})", rdmascope("flows", "-r", CAPTURE))
        self.assertNotIn(NAMES[CLIENT], rdmascope("flows", "-r", CAPTURE, "-n"))

    def test_a_file_of_names_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            names = pathlib.Path(folder) / "names"
            names.write_text(f'lid {CLIENT} "backup 7" # ours\n', encoding="utf-8")
            for command in (("flows",), ("dump", "-t")):
                self.assertIn(f"backup 7 (lid {CLIENT})", rdmascope(command[0], "-r", CAPTURE, *command[1:], "--node-names", names))
            names.write_text(f'{manager_guid("node_guid")} "manager"\n', encoding="utf-8")
            self.assertIn(f"manager (lid {MANAGER})", rdmascope("flows", "-r", CAPTURE, "--node-names", names))
            names.write_text("nonsense\n", encoding="utf-8")
            for command in ("flows", "dump", "io"):
                error = rdmascope(command, "-r", CAPTURE, "--node-names", names, status=1)
                self.assertIn(f"{names}:1: a GUID or a LID, and a name in quotes, are expected", error)


if __name__ == "__main__":
    unittest.main()
