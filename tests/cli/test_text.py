"""What is printed: times and octets as tcpdump prints them, fields as tshark does, colour only where it is expected."""
import gzip
import json
import os
import pty
import re
import select
import subprocess
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, dump, needs, tcpdump, tshark

RPING = PCAPS / "rxe-rping.pcap"
SIW = PCAPS / "siw-rping-crc.pcap"


class Times(TestCase):
    """Every frame of the capture has one line in both programs: RoCE alone is in it."""

    @needs("tcpdump")
    def test_times_are_tcpdumps(self):
        for style in ("-tt", "-ttt", "-tttt", "-ttttt", None):
            for precision in ([], ["--nano"]):
                for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):
                    with self.subTest(style=style, precision=precision, zone=zone):
                        options = [*([style] if style else []), *precision]
                        environment = {**ENVIRONMENT, "TZ": zone}
                        ours = self.succeeds(dump("-r", RPING, "-n", *options, env=environment))
                        theirs = tcpdump("-r", RPING, "-n", *options, env=environment).stdout
                        words = 2 if style == "-tttt" else 1

                        def times(text):
                            return [line.split()[:words] for line in text.splitlines()]

                        self.assertEqual(times(ours), times(theirs))

    @needs("tshark")
    def test_dates_of_fields_are_tsharks(self):
        for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):
            with self.subTest(zone=zone):
                environment = {**ENVIRONMENT, "TZ": zone}
                options = ["-r", RPING, "-T", "fields", "-e", "frame.time"]
                self.assertEqual(self.succeeds(dump(*options, env=environment)), tshark(*options, env=environment).stdout)

    def test_no_time(self):
        self.assertTrue(self.succeeds(dump("-r", RPING, "-n", "-t", "-c", 1)).startswith("192.0.2.2 > "))

    def test_numbers(self):
        numbers = [int(line.split()[0]) for line in self.succeeds(dump("-r", RPING, "-n", "-#")).splitlines()]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))


@needs("tcpdump")
class Octets(TestCase):
    def octets(self, text):
        return [line.rstrip() for line in text.splitlines() if re.match(r"\t0x[0-9a-f]{4}:", line)]

    def test_octets_are_tcpdumps(self):
        for option in ("-x", "-xx", "-X", "-XX"):
            with self.subTest(option=option):
                ours = self.octets(self.succeeds(dump("-r", RPING, "-n", "-c", 40, option)))
                theirs = self.octets(tcpdump("-r", RPING, "-n", "-c", 40, option).stdout)
                self.assertGreater(len(ours), 40)
                self.assertEqual(ours, theirs)

    def test_the_tree_may_have_octets_too(self):
        theirs = self.octets(tcpdump("-r", RPING, "-n", "-c", 5, "-xx").stdout)
        self.assertEqual(self.octets(self.succeeds(dump("-r", RPING, "-c", 5, "-V", "-xx"))), theirs)


class Selection(TestCase):
    def test_frames_without_rdma_are_printed_on_demand(self):
        rdma = self.succeeds(dump("-r", SIW, "-n")).splitlines()
        all_of_it = self.succeeds(dump("-r", SIW, "-n", "--all")).splitlines()
        self.assertGreater(len(all_of_it), len(rdma))
        self.assertTrue(all("iWARP" in line for line in rdma))

    def test_the_count_is_of_packets_that_are_printed(self):
        self.assertEqual(len(self.succeeds(dump("-r", SIW, "-n", "-c", 3)).splitlines()), 3)
        trees = self.succeeds(dump("-r", SIW, "-V", "-c", 3))
        self.assertEqual(len(re.findall("^Frame ", trees, re.MULTILINE)), 3)
        self.assertEqual(trees.count("iWARP") > 0, True)
        shown = self.succeeds(dump("-r", RPING, "-n", "-c", 3, "-Y", "infiniband.aeth"))
        self.assertEqual(len(shown.splitlines()), 3)
        self.assertNotIn("SEND", shown)

    @needs("tshark")
    def test_a_display_filter_selects_what_tshark_selects(self):
        for text in ("infiniband.bth.opcode == 17", "infiniband.aeth.msn > 5", "frame.len > 100 && infiniband.bth.a == 1",
                     "!infiniband.reth", "ip.src == 192.0.2.1 or infiniband.bth.psn in {14846759 .. 14846770}"):
            with self.subTest(filter=text):
                options = ["-r", RPING, "-Y", text, "-T", "fields", "-e", "frame.number"]
                theirs = tshark(*options).stdout
                self.assertEqual(self.succeeds(dump(*options)), theirs)
                self.assertEqual(dump("-r", RPING, "-Y", text, "--count").stdout.split()[0], str(len(theirs.split())))


@needs("tshark")
class Fields(TestCase):
    NAMES = ("frame.number", "frame.time_epoch", "ip.addr", "udp.dstport", "infiniband.bth.opcode", "infiniband.bth.psn",
             "infiniband.aeth.syndrome", "infiniband.reth.va")

    def test_the_look_of_fields_is_tsharks(self):
        fields = [word for name in self.NAMES for word in ("-e", name)]
        for look in ([], ["-E", "header=y"], ["-E", "separator=,", "-E", "quote=d"], ["-E", "separator=/s", "-E", "occurrence=f"],
                     ["-E", "occurrence=l"], ["-E", "aggregator=/s"], ["-E", "aggregator=;", "-E", "quote=s"], ["-E", "bom=y"]):
            with self.subTest(look=look):
                options = ["-r", RPING, "-T", "fields", *fields, *look]
                self.assertEqual(self.succeeds(dump(*options)), tshark(*options).stdout)

    def test_json_of_fields_is_tsharks(self):
        fields = [word for name in self.NAMES for word in ("-e", name)]

        def records(result):
            return [{**record, "_type": None} for record in json.loads(result.stdout)]

        ours, theirs = (records(program("-r", RPING, "-c", 20, "-T", "json", *fields)) for program in (dump, tshark))
        self.assertEqual(ours, theirs)

    def test_json_and_bulk_records_can_be_read(self):
        whole = json.loads(self.succeeds(dump("-r", SIW, "-T", "json")))
        lines = self.succeeds(dump("-r", SIW, "-T", "ek")).splitlines()
        count = int(dump("-r", SIW, "--count").stdout.split()[0])
        self.assertEqual(len(whole), count)
        self.assertEqual(len([json.loads(line) for line in lines]), 2 * count)

    def test_the_listing_of_fields_is_shaped_as_tsharks(self):
        ours = {line.split("\t")[2]: line.split("\t") for line in self.succeeds(dump("-G", "fields")).splitlines()}
        theirs = {line.split("\t")[2]: line.split("\t") for line in tshark("-G", "fields").stdout.splitlines()}
        both = [name for name in ours if name in theirs and name.startswith(("infiniband.", "iwarp_"))]
        self.assertGreater(len(both), 80)
        for name in both:
            self.assertEqual(ours[name][0], theirs[name][0], name)
            if ours[name][0] == "F":
                self.assertEqual(ours[name][3], theirs[name][3], name)


class Json(TestCase):
    def test_a_damaged_file_still_makes_whole_json(self):
        path = self.folder / "cut.pcap"
        path.write_bytes(RPING.read_bytes()[:-7])
        result = dump("-r", path, "-T", "json", "-e", "frame.number")
        self.assertEqual(result.returncode, 1)
        self.assertGreater(len(json.loads(result.stdout)), 10)


def in_terminal(arguments, environment=(), standard_error_too=False):
    """What the command prints on a terminal."""
    mine, its = pty.openpty()
    process = subprocess.Popen([BINARY, *map(str, arguments)], stdout=its, stdin=its, stderr=its if standard_error_too else subprocess.DEVNULL,
                               env={**ENVIRONMENT, "TERM": "xterm", **dict(environment)})
    os.close(its)
    text = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([mine], [], [], 0.2)[0]:
            try:
                part = os.read(mine, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            text += part
    os.close(mine)
    process.kill()
    process.wait()
    return text.decode().replace("\r\n", "\n")


class Color(TestCase):
    CAPTURE = PCAPS / "rxe-verbs-rnr.pcap"

    def test_only_on_a_terminal(self):
        plain = self.succeeds(dump("-r", self.CAPTURE, "-n"))
        self.assertNotIn("\x1b", plain)
        coloured = in_terminal(["dump", "-r", self.CAPTURE, "-n"])
        self.assertIn("\x1b[", coloured)
        self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", coloured), plain)

    def test_not_against_the_users_will(self):
        for environment, options in (({"NO_COLOR": "1"}, []), ({"TERM": "dumb"}, []), ({}, ["--color=never"])):
            with self.subTest(environment=environment, options=options):
                self.assertNotIn("\x1b", in_terminal(["dump", "-r", self.CAPTURE, "-n", *options], environment))
        self.assertIn("\x1b[", in_terminal(["dump", "-r", self.CAPTURE, "-n"], {"NO_COLOR": ""}))

    def test_always_if_told_so(self):
        self.assertIn("\x1b[", self.succeeds(dump("-r", self.CAPTURE, "-n", "--color", "always")))

    def test_machines_get_none(self):
        self.assertNotIn("\x1b", dump("-r", self.CAPTURE, "--color=always", "-T", "fields", "-e", "frame.number").stdout)


class Hostile(TestCase):
    def test_names_do_not_control_the_terminal(self):
        """Names that a capture holds, with a sequence in them that clears a terminal."""
        captures = ((PCAPS / "nfs-rdma-rxe.pcap", (b"small-", b"labB"), r" Name: \\x1b\[2J"),
                    (PCAPS / "nvme-rdma-rxe.pcap.gz", (b":uuid:", b":sub1"), r" NQN: nqn.*\\x1b\[2J"))
        for capture, words, shown in captures:
            octets = gzip.decompress(capture.read_bytes()) if capture.suffix == ".gz" else capture.read_bytes()
            for word in words:
                self.assertIn(word, octets)
                octets = octets.replace(word, b"\x1b[2J" + word[4:])
            path = self.folder / "hostile.pcap"
            path.write_bytes(octets)
            # -K: the ICRCs are those of the old names.
            tree = self.succeeds(dump("-V", "-n", "-K", "-r", path))
            self.assertGreaterEqual(len(re.findall(shown, tree)), 5)
            self.assertNotIn("\x1b", tree)
            for command in (["dump", "-A"], ["dump", "-T", "json"], ["io", "--each"], ["why"], ["top", "--once"]):
                with self.subTest(capture=capture.name, command=command):
                    done = subprocess.run([BINARY, *command, "-n", "-K", "-r", path], capture_output=True, env=ENVIRONMENT, timeout=60)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(re.findall(rb"[^\n\t\x20-\x7e\x80-\xff]", done.stdout + done.stderr), [])

    def test_nothing_in_a_packet_or_name_controls_the_terminal(self):
        for capture in sorted(PCAPS.glob("made-*.pcap")):
            with self.subTest(capture=capture.name):
                for options in ([], ["-V", "--all"], ["-X", "--all"]):
                    text = dump("-r", capture, "-n", *options).stdout
                    self.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f\x7f]")


if __name__ == "__main__":
    unittest.main()
