"""Reading and saving files, against tcpdump; and what is said where that fails."""
import gzip
import os
import pathlib
import re
import signal
import struct
import subprocess
import unittest

from command import (BINARY, ENVIRONMENT, PCAPS, TestCase, compressed_captures, dump, needs, plain_captures, run, run_unprivileged,
                     tcpdump, tshark, wait_for_reader)

RPING = PCAPS / "rxe-rping.pcap"
HEADER = 24  # octets of a pcap file before the first record


def records(path):
    """The records of a little-endian pcap file, headers included."""
    octets = pathlib.Path(path).read_bytes()
    at, found = HEADER, []
    while at < len(octets):
        captured = struct.unpack_from("<I", octets, at + 8)[0]
        found.append(octets[at:at + 16 + captured])
        at += 16 + captured
    return found


@needs("tcpdump")
class AgainstTcpdump(TestCase):
    def test_a_copy_is_tcpdumps_copy(self):
        for capture in plain_captures():
            with self.subTest(capture=capture.name):
                nano = capture.read_bytes()[:4] == b"\x4d\x3c\xb2\xa1"
                self.succeeds(dump("-r", capture, "-w", self.folder / "ours.pcap"))
                tcpdump("-r", capture, *(["--nano"] if nano else []), "-w", self.folder / "theirs.pcap")
                self.assertEqual((self.folder / "ours.pcap").read_bytes(), (self.folder / "theirs.pcap").read_bytes())

    def test_so_is_a_filtered_one(self):
        capture = PCAPS / "siw-rping-crc.pcap"
        for expression in ("tcp[tcpflags] & tcp-push != 0", "less 100", "src host 10.0.0.1 or greater 200"):
            with self.subTest(expression=expression):
                self.succeeds(dump("-r", capture, "-w", self.folder / "ours.pcap", expression))
                tcpdump("-r", capture, "-w", self.folder / "theirs.pcap", expression)
                self.assertEqual((self.folder / "ours.pcap").read_bytes(), (self.folder / "theirs.pcap").read_bytes())

    def test_counts(self):
        for capture in plain_captures():
            with self.subTest(capture=capture.name):
                for expression in ([], ["udp"], ["less", "100"]):
                    if expression == ["udp"] and re.search("infiniband|ipoib|erf|ppi|nflog", capture.name):
                        continue  # libpcap looks into no packet of these
                    theirs = tcpdump("-r", capture, "--count", *expression)
                    # tcpdump adds a word; a script compares the number.
                    self.assertEqual(self.succeeds(dump("-r", capture, "--count", *expression)), theirs.stdout.split()[0] + "\n")
        self.assertEqual(dump("-r", RPING, "--count", "-c", 1).stdout, "1\n")

    def test_compressed_files(self):
        for capture in compressed_captures():
            with self.subTest(capture=capture.name):
                theirs = tcpdump("-r", "-", "--count", input=gzip.decompress(capture.read_bytes()), text=False)
                self.assertEqual(self.succeeds(dump("-r", capture, "--count")), theirs.stdout.decode().split()[0] + "\n")

    def test_the_rings_files_have_tcpdumps_names_and_contents(self):
        # -G is left out: it follows the clock of the machine.
        capture = PCAPS / "rxe-write-bw-64k.pcap"
        for size, files in ((1, None), (1, 2), ("100k", None), ("100k", 3), ("50k", 12)):
            with self.subTest(size=size, files=files):
                options = ["-C", size, *(["-W", files] if files else [])]
                ours = self.folder / f"ours-{size}-{files}"
                ours.mkdir()
                self.succeeds(dump("-r", capture, "-w", ours / "ring.pcap", *options))
                names = sorted(f.name for f in ours.iterdir())
                if files:
                    width = len(str(files - 1))
                    self.assertEqual(names, [f"ring.pcap{i:0{width}}" for i in range(files)][:len(names)])
                if isinstance(size, str):  # tcpdump 4.99.3 knows millions alone
                    self.assertGreater(len(names), 2)
                    continue
                theirs = self.folder / f"theirs-{size}-{files}"
                theirs.mkdir()
                tcpdump("-Z", "root", "-r", capture, "-w", theirs / "ring.pcap", *options)
                self.assertEqual({f.name: f.read_bytes() for f in ours.iterdir()},
                                 {f.name: f.read_bytes() for f in theirs.iterdir()})


class Saving(TestCase):
    def test_the_format_follows_the_name_or_the_option(self):
        magic = {"pcap": bytes.fromhex("d4c3b2a1"), "pcapng": bytes.fromhex("0a0d0d0a")}
        for name, options, wanted in (("a.pcap", [], "pcap"), ("a.cap", [], "pcap"), ("a.pcapng", [], "pcapng"),
                                      ("a", [], "pcapng"), ("b.pcap", ["--format=pcapng"], "pcapng"),
                                      ("b", ["--format", "pcap"], "pcap")):
            with self.subTest(name=name, options=options):
                self.succeeds(dump("-r", RPING, "-w", self.folder / name, *options))
                self.assertEqual((self.folder / name).read_bytes()[:4], magic[wanted])

    def test_pcapng_and_back_changes_nothing(self):
        self.succeeds(dump("-r", RPING, "-w", self.folder / "a.pcapng"))
        # pcapng counts nanoseconds, and so would the copy.
        self.succeeds(dump("-r", self.folder / "a.pcapng", "--micro", "-w", self.folder / "b.pcap"))
        self.assertEqual(records(self.folder / "b.pcap"), records(RPING))

    @needs("tshark")
    def test_another_program_reads_the_pcapng(self):
        self.succeeds(dump("-r", RPING, "-w", self.folder / "a.pcapng"))
        fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "infiniband.bth.psn"]
        self.assertEqual(tshark("-r", self.folder / "a.pcapng", *fields).stdout, tshark("-r", RPING, *fields).stdout)

    def test_standard_input_and_output(self):
        piped = dump("-r", "-", "-w", "-", "--format=pcap", input=RPING.read_bytes(), text=False)
        self.assertEqual(self.succeeds(piped), RPING.read_bytes())

    def test_the_first_packets_alone(self):
        self.succeeds(dump("-r", RPING, "-c", 3, "-w", self.folder / "a.pcap"))
        self.assertEqual(records(self.folder / "a.pcap"), records(RPING)[:3])

    def test_a_display_filter_saves_what_it_shows(self):
        self.succeeds(dump("-r", RPING, "-Y", "infiniband.bth.opcode == 17", "-w", self.folder / "a.pcap"))
        saved = records(self.folder / "a.pcap")
        shown = dump("-r", RPING, "-Y", "infiniband.bth.opcode == 17", "-T", "fields", "-e", "frame.number").stdout.split()
        self.assertGreater(len(saved), 0)
        self.assertEqual(saved, [records(RPING)[int(number) - 1] for number in shown])

    def test_print_prints_as_well(self):
        self.assertEqual(self.succeeds(dump("-r", RPING, "-w", self.folder / "a.pcap", "--print")), dump("-r", RPING).stdout)
        self.assertEqual((self.folder / "a.pcap").read_bytes(), RPING.read_bytes())
        self.assertEqual(self.succeeds(dump("-r", RPING, "-w", self.folder / "a.pcap")), "")

    def test_a_command_for_every_file_that_is_complete(self):
        self.succeeds(dump("-r", RPING, "-C", "20k", "-w", self.folder / "a.pcap", "-z", "gzip"))
        zipped = sorted(self.folder.glob("*.gz"))
        self.assertGreater(len(zipped), 1)
        whole = gzip.decompress((self.folder / "a.pcap.gz").read_bytes())
        self.assertEqual(whole, RPING.read_bytes()[:len(whole)])

    def test_a_command_that_fails_is_told(self):
        self.assertIn("-z", self.fails(dump("-r", RPING, "-C", "20k", "-w", self.folder / "a.pcap", "-z", "false")))

    def test_a_command_that_there_is_not_is_told_at_once(self):
        for name, why in (("no-such-command", "no such program in the folders of PATH"), ("/no/such", "No such file"),
                          (self.folder, "Permission denied")):
            saved = self.folder / "a.pcap"
            self.assertIn(why, self.fails(dump("-r", RPING, "-C", "20k", "-w", saved, "-z", name)))
            self.assertFalse(saved.exists())

    def test_privileges_are_given_up(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        message = self.fails(dump("-r", RPING, "-Z", "nobody", "-w", self.folder / "a.pcap"))
        self.assertIn("ermission denied", message)
        self.folder.chmod(0o777)
        self.succeeds(dump("-r", RPING, "-Z", "nobody", "-w", self.folder / "a.pcap"))
        self.assertNotEqual((self.folder / "a.pcap").stat().st_uid, 0)
        self.assertIn("no such user", self.fails(dump("-r", RPING, "-Z", "nobody-of-that-name")))


class Damage(TestCase):
    """Each message says what is wrong and where; what stood before the damage has been printed."""

    def damaged(self, octets, name="damaged.pcap"):
        path = self.folder / name
        path.write_bytes(octets)
        return path

    def test_no_such_file(self):
        message = self.fails(dump("-r", self.folder / "none.pcap"))
        self.assertIn("none.pcap", message)
        self.assertIn("No such file", message)

    def test_a_folder(self):
        self.fails(dump("-r", self.folder))

    def test_an_unreadable_file(self):
        path = self.damaged(RPING.read_bytes())
        path.chmod(0)
        self.folder.chmod(0o755)
        self.assertIn("ermission", self.fails(run_unprivileged("dump", "-r", path)))

    def test_an_empty_file(self):
        self.assertIn("empty", self.fails(dump("-r", self.damaged(b""))))

    def test_no_capture_at_all(self):
        message = self.fails(dump("-r", self.damaged(b"#!/bin/sh\necho this is no capture\n" * 10)))
        self.assertRegex(message, r"pcap|capture")

    def test_a_cut_header(self):
        self.fails(dump("-r", self.damaged(RPING.read_bytes()[:20])))

    def test_a_cut_last_record(self):
        whole = RPING.read_bytes()
        wanted = records(RPING)
        for cut in (1, 5, len(wanted[-1]) - 16, len(wanted[-1]) - 3):
            with self.subTest(cut=cut):
                path = self.damaged(whole[:-cut])
                result = dump("-r", path, "-T", "fields", "-e", "frame.number")
                message = self.fails(result)
                self.assertEqual(len(result.stdout.splitlines()), len(wanted) - 1)
                self.assertIn(str(len(whole) - len(wanted[-1])), message.replace(",", ""))
                self.assertIn(f"{len(wanted) - 1} ", message)

    def test_a_record_with_a_mad_length(self):
        octets = bytearray(RPING.read_bytes())
        at = HEADER + sum(map(len, records(RPING)[:10]))
        octets[at + 8:at + 12] = b"\xff\xff\xff\x7f"
        path = self.damaged(bytes(octets))
        result = dump("-r", path, "-w", self.folder / "saved.pcap")
        message = self.fails(result)
        self.assertIn(str(at), message)
        self.assertEqual(records(self.folder / "saved.pcap"), records(RPING)[:10])

    def test_a_corrupt_pcapng_block(self):
        self.succeeds(dump("-r", RPING, "-w", self.folder / "whole.pcapng"))
        octets = bytearray((self.folder / "whole.pcapng").read_bytes())
        at, blocks = 0, []
        while at < len(octets):
            blocks.append(at)
            at += struct.unpack_from("<I", octets, at + 4)[0]
        octets[blocks[12] + 4:blocks[12] + 8] = b"\x07\x00\x00\x00"
        message = self.fails(dump("-r", self.damaged(bytes(octets), "d.pcapng"), "--count"))
        self.assertIn(str(blocks[12]), message)

    def test_a_damaged_gzip(self):
        octets = bytearray(gzip.compress(RPING.read_bytes()))
        octets[len(octets) // 2] ^= 0xff
        self.fails(dump("-r", self.damaged(bytes(octets), "d.pcap.gz"), "--count"))

    def test_a_wrong_expression(self):
        self.assertIn("udp port", self.fails(dump("-r", RPING, "udp", "port"), 2))
        self.assertIn("-T fields", self.fails(dump("-r", RPING, "-e", "frame.number"), 2))
        for command in ("flows", "why"):
            self.assertIn("udp port", self.fails(run(command, "-r", RPING, "udp", "port"), 2))
        self.assertIn("udp port", self.fails(run("top", "--once", "-r", RPING, "udp", "port"), 2))

    def test_a_wrong_display_filter_is_marked(self):
        message = self.fails(dump("-r", RPING, "-Y", "infiniband.bth.opcode == == 1"), 2)
        self.assertIn("infiniband.bth.opcode == == 1", message)
        self.assertIn("^", message)
        message = self.fails(dump("-r", RPING, "-Y", "infiniband.bth.opcod == 1"), 2)
        self.assertIn("infiniband.bth.opcode", message)

    def test_an_unknown_field_is_answered_with_its_likes(self):
        message = self.fails(dump("-r", RPING, "-T", "fields", "-e", "infiniband.bth.opcod"), 2)
        self.assertIn("infiniband.bth.opcode", message)

    def test_saving_over_what_is_read(self):
        path = self.damaged(RPING.read_bytes())
        with open(path, "rb") as stream:
            for result in (dump("-r", path, "-w", path), dump("-r", "-", "-w", path, stdin=stream)):
                self.assertIn("being read", self.fails(result))
        self.assertEqual(path.read_bytes(), RPING.read_bytes())

    def test_saving_over_what_is_read_by_a_later_file_of_the_ring(self):
        path = self.damaged(RPING.read_bytes(), "a.pcap1")
        self.assertIn("being read", self.fails(dump("-r", path, "-w", self.folder / "a.pcap", "-C", "10k")))
        self.assertEqual(path.read_bytes(), RPING.read_bytes())

    def test_saving_over_the_expression(self):
        path = self.damaged(b"udp\n", "filter")
        self.assertIn("being read", self.fails(dump("-r", RPING, "-F", path, "-w", path)))
        self.assertEqual(path.read_bytes(), b"udp\n")

    def test_a_folder_that_is_not_there(self):
        self.assertIn("No such file", self.fails(dump("-r", RPING, "-w", self.folder / "none" / "a.pcap")))

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_full_disk(self):
        message = self.fails(dump("-r", RPING, "-w", "/dev/full", "--format=pcap"))
        self.assertIn("/dev/full", message)
        with open("/dev/full", "w") as full:
            result = subprocess.run([BINARY, "dump", "-r", RPING, "-n"], stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output: the disk is full", result.stderr)


class Endings(TestCase):
    def started(self, *arguments, **options):
        process = subprocess.Popen([BINARY, "dump", *map(str, arguments)], env=ENVIRONMENT, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for stream in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(stream.close)
        return process

    def test_a_reader_that_goes_away_is_no_failure(self):
        capture = PCAPS / "siw-write-bw-64k-crc.pcap"
        script = f"'{BINARY}' dump -r '{capture}' -T fields -e frame.number -e frame.time | head -1; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(result.stderr, "")
        self.assertIn(result.stdout.splitlines()[-1], ("0", "141"))

    def test_a_reader_of_packets_that_goes_away_is_no_failure(self):
        capture = PCAPS / "siw-write-bw-64k-crc.pcap"
        script = f"'{BINARY}' dump -r '{capture}' -w - | head -c1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual((result.stderr, result.stdout), ("", "141\n"))

    def test_a_stream_that_goes_quiet_can_be_ended(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                process = self.started("-r", "-", "-T", "fields", "-e", "frame.number", "-l")
                process.stdin.write(b"".join([RPING.read_bytes()[:HEADER], *records(RPING)[:5]]))
                process.stdin.flush()
                self.assertEqual([process.stdout.readline() for _ in range(5)], [b"%d\n" % n for n in range(1, 6)])
                process.send_signal(number)
                self.assertEqual(process.wait(10), 0)
                self.assertEqual(process.stderr.read(), b"")

    def test_in_the_background_of_a_script_it_can_be_ended_and_below_nohup_it_goes_on(self):
        for number, ends in ((signal.SIGINT, True), (signal.SIGHUP, False)):
            with self.subTest(signal=number):
                process = self.started("-r", "-", "-T", "fields", "-e", "frame.number", "-l",
                                       preexec_fn=lambda number=number: signal.signal(number, signal.SIG_IGN))
                process.stdin.write(b"".join([RPING.read_bytes()[:HEADER], *records(RPING)[:5]]))
                process.stdin.flush()
                self.assertEqual([process.stdout.readline() for _ in range(5)], [b"%d\n" % n for n in range(1, 6)])
                process.send_signal(number)
                if not ends:
                    process.stdin.write(records(RPING)[5])
                    process.stdin.flush()
                    self.assertEqual(process.stdout.readline(), b"6\n")
                    process.stdin.close()
                self.assertEqual(process.wait(10), 0)

    def test_what_was_saved_before_the_end_is_whole(self):
        saved = self.folder / "a.pcap"
        process = self.started("-r", "-", "-w", saved)
        process.stdin.write(b"".join([RPING.read_bytes()[:HEADER], *records(RPING)[:5], records(RPING)[5][:20]]))
        process.stdin.flush()
        wait_for_reader(process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 0)
        self.assertEqual(records(saved), records(RPING)[:5])

    def test_counts_on_demand(self):
        process = self.started("-r", "-", "-w", "-", "-U", "--format=pcap")
        process.stdin.write(b"".join([RPING.read_bytes()[:HEADER], *records(RPING)[:5]]))
        process.stdin.flush()
        wanted = len(b"".join([RPING.read_bytes()[:HEADER], *records(RPING)[:5]]))
        self.assertEqual(len(process.stdout.read(wanted)), wanted)
        process.send_signal(signal.SIGUSR1)
        process.stdin.write(records(RPING)[5])
        process.stdin.close()
        self.assertEqual(process.wait(10), 0)
        self.assertRegex(process.stderr.read().decode(), r"5|6")


if __name__ == "__main__":
    unittest.main()
