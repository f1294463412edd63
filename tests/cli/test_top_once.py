"""`rdmascope top --once`: the figures of its picture are held to what `flows --json` prints of the same packets."""
import json
import os
import re
import subprocess
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, run
from figures import COUNTS, DEMO, LOSSY, RPING, counted, flows_of, rows, top


LOSS = PCAPS / "rxe-loss1pct-send-bw.pcap.gz"


class Once(TestCase):
    """One picture, without a terminal."""

    def picture(self, *arguments, **environment):
        variables = {**ENVIRONMENT, "XDG_CONFIG_HOME": str(self.folder), **environment}
        return self.succeeds(top("--once", *arguments, env=variables))

    def test_a_file_is_shown_as_a_whole(self):
        for capture in (LOSSY, DEMO, RPING):
            with self.subTest(capture=capture.name):
                picture = self.picture("-n", "-K", "-r", capture, "--columns", COUNTS, "--size", "120x40")
                self.assertEqual(rows(picture), counted(flows_of(capture, "-K")))

    def test_a_single_packet_has_no_rate(self):
        single = self.folder / "single.pcap"
        octets = RPING.read_bytes()
        single.write_bytes(octets[:24 + 16 + int.from_bytes(octets[32:36], "little")])
        gauges = self.picture("-n", "-r", single).splitlines()[1]
        self.assertRegex(gauges, r"^ *RDMA - .* - msgs/s .* all - .* - packets/s")

    def test_header_and_rows_are_rates_of_one_time(self):
        """From tshark's frames: RDMA is all but connection management, and everything is divided by the whole time."""
        frames = [line.split("\t") for line in subprocess.run(
            ["tshark", "-n", "-r", LOSS, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e",
             "infiniband.bth.destqp"],
            capture_output=True, text=True, check=True).stdout.splitlines()]
        times = [float(time) for time, *_ in frames]
        seconds = max(times) - min(times)
        everything = sum(int(length) for _, length, *_ in frames) * 8 / seconds
        rdma = sum(int(length) for _, length, pair, *_ in frames if pair and int(pair, 16) != 1) * 8 / seconds
        # ib_send_bw -s 4096 -n 150: the application's report, next to the capture.
        sent = 150 * 4096 * 8 / seconds
        lines = self.picture("-n", "-r", LOSS, "--size", "160x40").splitlines()
        number = r"(\d+(?:\.\d+)?) ?Mbit/s"
        self.assertAlmostEqual(float(re.search("RDMA " + number, lines[1])[1]), rdma / 1e6, delta=0.006)
        self.assertAlmostEqual(float(re.search("all " + number, lines[1])[1]), everything / 1e6, delta=0.006)
        row = next(line for line in lines if "192.0.2.2/0x13" in line)
        self.assertAlmostEqual(float(re.search(number, row)[1]), sent / 1e6, delta=0.006)


    def test_flows_with_a_problem_are_all_on_the_first_screen(self):
        """37 flows of twelve captures, of which twelve have a problem, on a screen of 80x24."""
        captures = [PCAPS / name for name in (
            "rxe-verbs-badrkey-w.pcap", "rxe-verbs-rnr.pcap", "rxe-verbs-rnr-fail.pcap", "rxe-verbs-toolong.pcap",
            "siw-verbs-badrkey-r.pcap", "siw-verbs-rnr.pcap", "siw-verbs-perm-w.pcap", "rxe-loss1pct-send-bw.pcap.gz",
            "demo-loopback.pcap.gz", "nvme-rdma-rxe.pcap.gz", "rxe-verbs-oob-r.pcap", "rxe-uc-send-bw-4k.pcap.gz")]
        sources = [word for capture in captures for word in ("-r", capture)]
        found = json.loads(self.succeeds(run("flows", "-n", "--json", *sources, env=ENVIRONMENT)))["flows"]
        causes = sorted(flow["problem"]["cause"] for flow in found if flow["problem"])
        self.assertEqual((len(found), len(causes)), (37, 12))
        lines = self.picture("-n", *sources, "--size", "80x24").splitlines()
        marked = [line for line in lines if line.startswith(" !")]
        self.assertEqual(len(marked), 12)
        self.assertEqual(lines[4:16], marked, "they stand at the top")
        # "rnr" is how "rnr used up" begins: the blank of the next column ends a cause.
        for cause in set(causes):
            self.assertEqual(sum(f"  {cause}  " in line for line in marked), causes.count(cause), cause)
        self.assertIn("! 12 flows", lines[-3])

    def test_a_file_without_packets_is_no_failure(self):
        empty = self.folder / "empty.pcap"
        empty.write_bytes(RPING.read_bytes()[:24])
        self.assertIn("empty.pcap holds no packets", self.picture("-r", empty))
        for command in ("flows", "why", "dump"):
            self.succeeds(run(command, "-r", empty))

    def test_hosts_have_totals(self):
        picture = self.picture("-n", "-r", LOSS, "--view", "hosts", "--size", "120x40")
        self.assertRegex(picture, r"host +sends +sent ")

    def test_its_size(self):
        def size(picture):
            lines = picture.splitlines()
            return max(map(len, lines)), len(lines)

        self.assertEqual(size(self.picture("-r", LOSSY, "--size", "150x45"))[1], 45)
        self.assertLessEqual(size(self.picture("-r", LOSSY, "--size", "150x45"))[0], 150)
        self.assertEqual(size(self.picture("-r", LOSSY, COLUMNS="90", LINES="30"))[1], 30)
        self.assertLessEqual(size(self.picture("-r", LOSSY, COLUMNS="90", LINES="30"))[0], 90)
        for odd in ("1x1", "5x3", "300x100"):
            self.assertEqual(size(self.picture("-r", LOSSY, "--size", odd))[1], int(odd.split("x")[1]))

    def test_ascii_where_it_is_wanted_or_all_there_is(self):
        self.assertFalse(self.picture("-r", LOSSY).isascii())
        self.assertTrue(self.picture("-r", LOSSY, "--ascii").isascii())
        self.assertTrue(self.picture("-r", LOSSY, LC_ALL="C").isascii())

    def test_views_filters_and_order(self):
        self.assertIn("192.0.2.2", self.picture("-n", "-r", LOSSY, "--view", "hosts"))
        self.assertIn("RNR", self.picture("-n", "-r", PCAPS / "rxe-verbs-rnr.pcap", "--view", "events"))
        all_of_them = counted(flows_of(LOSSY))
        picture = self.picture("-n", "-r", LOSSY, "--columns", COUNTS, "--filter", "retransmitted_packets > 0")
        self.assertEqual(rows(picture), {flow: cells for flow, cells in all_of_them.items() if cells[1] != "0"})
        for sort, order in (("packets", -1), ("-packets", 1)):
            picture = self.picture("-n", "-r", LOSSY, "--columns", COUNTS, f"--sort={sort}")
            packets = [int(cells[0]) for cells in rows(picture).values()]
            self.assertEqual(packets, sorted(packets, key=lambda count: order * count))

    def test_events_have_the_times_of_their_frames(self):
        """As `dump` has them, which is held against tshark elsewhere."""
        lossy = PCAPS / "rxe-loss1pct-send-bw.pcap.gz"
        times = {int(number): time for number, time in (line.split()[:2] for line in self.succeeds(
            run("dump", "-n", "-#", "-r", lossy)).splitlines() if re.match(r" *\d+ ", line))}
        shown = re.findall(r"^[ !]{2}(\S+)  .*  (?:\d+)  (\d+)[ \d.]*$",
                           self.picture("-n", "-r", lossy, "--view", "events", "--size", "140x80"), re.MULTILINE)
        self.assertGreater(len(shown), 4)  # by how many intervals there was time for
        self.assertEqual([time for time, _ in shown], [times[int(frame)][:12] for _, frame in shown])
        self.assertEqual(shown, sorted(shown, key=lambda event: event[0]))
        self.assertEqual(times[1421][:12], "02:14:21.587")  # tshark: the DREQ

    def test_set_up_alone_is_called_that(self):
        picture = self.picture("-n", "-r", PCAPS / "rxe-verbs-idle.pcap")
        self.assertIn("only connection set-up was seen", picture)
        self.assertNotIn("4 shows the events", picture)
        self.assertIn("4 shows the events", self.picture("-n", "-r", PCAPS / "rxe-cm-reject.pcap"))
        self.assertIn("connection rejected: Invalid Service ID",
                      self.picture("-n", "-r", PCAPS / "rxe-cm-reject.pcap", "--view", "events"))

    def test_it_stores_nothing(self):
        self.picture("-r", LOSSY, "--sort", "packets", "--theme", "light")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_stored_counts(self):
        (self.folder / "rdmascope").mkdir()
        (self.folder / "rdmascope/top.toml").write_text(f"columns = {COUNTS.split(',')}\n")
        self.assertEqual(rows(self.picture("-n", "-r", LOSSY)), counted(flows_of(LOSSY)))

    def test_a_damaged_file_is_shown_as_far_as_it_goes_and_told(self):
        damaged = self.folder / "damaged.pcap"
        damaged.write_bytes(RPING.read_bytes()[:-5])
        result = top("--once", "-n", "-r", damaged, env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(self.folder)})
        self.assertIn("damaged.pcap", self.fails(result))
        self.assertIn("FAILED", result.stdout)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_full_disk(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([BINARY, "top", "--once", "-r", RPING], stdout=full, stderr=subprocess.PIPE, text=True,
                                    env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(self.folder)})
        self.assertEqual(result.returncode, 1)
        self.assertIn("the disk is full", result.stderr)

    def test_standard_output_that_is_closed(self):
        script = f"'{BINARY}' top --once -r '{RPING}' >&-"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output", result.stderr)

    def test_counters_have_no_time_of_a_capture(self):
        self.assertNotIn("last ", self.picture("-r", RPING, "--view", "counters"))

    def test_all_mistakes_of_the_settings_are_told(self):
        (self.folder / "rdmascope").mkdir()
        (self.folder / "rdmascope/top.toml").write_text('theme = 3\ngroup = "x"\nfoo = 1\n')
        told = top("--once", "-r", RPING, env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(self.folder)}).stderr
        self.assertRegex(told, "top.toml: line 1: theme: .*; line 2: group: .* or process is expected; line 3: foo is no setting")

    def test_a_capture_that_comes_through_a_pipe(self):
        with RPING.open("rb") as capture:
            result = top("--once", "-n", "-r", "-", "--columns", COUNTS, stdin=capture)
        self.assertEqual(rows(self.succeeds(result)), counted(flows_of(RPING)))


if __name__ == "__main__":
    unittest.main()
