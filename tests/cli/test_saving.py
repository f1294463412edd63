"""What `dump -w` keeps of captures with several interfaces, sections and comments, and what else it does at the same time."""
import collections
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, dump, needs, run, tcpdump, tshark, wait_for_reader

RPING = PCAPS / "rxe-rping.pcap"
PING = PCAPS / "siw-rping-mpa1.pcap"
SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6


def padded(octets):
    return octets + bytes(-len(octets) % 4)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + padded(value)


def block(kind, body, *options):
    body += b"".join(options) + (option(0, b"") if options else b"")
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def section(*options):
    return block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1), *options)


def interface(*options):
    return block(INTERFACE, struct.pack("<HHI", 1, 0, 262144), *options)


def packet(octets, *options, number=0):
    return block(PACKET, struct.pack("<IIIII", number, 0, 0, len(octets), len(octets)) + padded(octets), *options)


def statistics(dropped, number=0):
    return block(STATISTICS, struct.pack("<III", number, 0, 0), option(7, struct.pack("<Q", dropped)))


def frames_of(capture):
    octets, at, found = capture.read_bytes(), 24, []
    while at < len(octets):
        captured = struct.unpack_from("<I", octets, at + 8)[0]
        found.append(octets[at + 16:at + 16 + captured])
        at += 16 + captured
    return found


def blocks_of(path):
    """(type, options as code: [values]) of every block of a little-endian pcapng file."""
    octets, at, found = path.read_bytes(), 0, []
    fixed = {SECTION: 16, INTERFACE: 8, STATISTICS: 12}
    while at < len(octets):
        kind, length = struct.unpack_from("<II", octets, at)
        begin = fixed.get(kind, 20 + len(padded(bytes(struct.unpack_from("<I", octets, at + 20)[0]))) if kind == PACKET else 0)
        options, where = collections.defaultdict(list), at + 8 + begin
        while where < at + length - 4:
            code, size = struct.unpack_from("<HH", octets, where)
            if code == 0:
                break
            options[code].append(octets[where + 4:where + 4 + size])
            where += 4 + len(padded(bytes(size)))
        found.append((kind, dict(options)))
        at += length
    return found


class Names(TestCase):
    """Of files that are saved, which must not become that of the file being read."""

    def saved_over(self, name, *arguments):
        source = self.folder / name
        shutil.copy(RPING, source)
        message = self.fails(dump("-r", source, *arguments))
        self.assertIn("being read", message)
        self.assertIn(str(source), message)
        self.assertEqual(source.read_bytes(), RPING.read_bytes())
        with open(source, "rb") as stream:
            self.assertIn("being read", self.fails(dump("-r", "-", *arguments, stdin=stream)))
        self.assertEqual(source.read_bytes(), RPING.read_bytes())

    def test_a_name_with_a_date_may_be_that_of_the_capture(self):
        year = time.strftime("%Y", time.gmtime())
        self.saved_over(f"{year}.pcap", "-w", self.folder / "%Y.pcap", "-G", 60)

    def test_so_may_one_with_a_date_and_a_number(self):
        year = time.strftime("%Y", time.gmtime())
        self.saved_over(f"{year}.pcap1", "-w", self.folder / "%Y.pcap", "-G", 3600, "-C", "10k")
        self.saved_over(f"{year}.cap2", "-w", self.folder / "%Y.cap", "-G", 3600, "-C", "10k", "-W", 4)

    def test_an_empty_name_is_none(self):
        for arguments in (["-r", RPING, "-w", ""], ["-r", ""], ["-r", RPING, "-F", ""]):
            self.assertRegex(self.fails(dump(*arguments), 2), r"-[rwF] '': .*name")

    def test_standard_input_is_read_once(self):
        self.assertIn("standard input", self.fails(dump("-r", "-", "-F", "-", input="udp"), 2))


class Printing(TestCase):
    """--print prints as well; what is saved stays what it is."""

    @needs("tcpdump")
    def test_all_packets_are_saved_as_tcpdump_saves_them(self):
        tcpdump("-r", PING, "-w", self.folder / "theirs.pcap")
        for options in (["--print"], ["--print", "-V"], ["--print", "-T", "fields", "-e", "frame.number"],
                        ["--print", "--all"]):
            with self.subTest(options=options):
                printed = self.succeeds(dump("-r", PING, "-w", self.folder / "ours.pcap", *options))
                self.assertEqual((self.folder / "ours.pcap").read_bytes(), (self.folder / "theirs.pcap").read_bytes())
                self.assertEqual(printed, self.succeeds(dump("-r", PING, *options[1:])))

    @needs("tshark")
    def test_a_display_filter_decides_about_both(self):
        # SYNs are no RDMA: text and tree print none of them.
        selected = tshark("-r", PING, "-Y", "tcp.flags.syn == 1", "-T", "fields", "-e", "frame.number").stdout.split()
        self.assertGreater(len(selected), 0)
        wanted = [frames_of(PING)[int(number) - 1] for number in selected]
        for options in (["--print"], ["--print", "-V"], []):
            with self.subTest(options=options):
                self.assertEqual(self.succeeds(dump("-r", PING, "-Y", "tcp.flags.syn == 1", "-w", self.folder / "a.pcap",
                                                    *options)), "")
                self.assertEqual(frames_of(self.folder / "a.pcap"), wanted)

    def test_so_many_packets_are_saved_and_not_printed(self):
        self.succeeds(dump("-r", PING, "-c", 3, "--print", "-w", self.folder / "a.pcap"))
        self.assertEqual(frames_of(self.folder / "a.pcap"), frames_of(PING)[:3])


class Sections(TestCase):
    """Interfaces and sections stay those of the source, whatever they say of themselves."""

    def setUp(self):
        super().setUp()
        frames = frames_of(PCAPS / "rxe-verbs-rnr.pcap")
        octets = b""
        for comment, dropped, part in ((b"first section", 14, frames[:12]), (b"second section", 18, frames[12:])):
            octets += section(option(1, comment), option(4, b"a tool")) + interface(option(2, b"eth0"), option(1, b"a port"))
            octets += b"".join(map(packet, part)) + statistics(dropped)
        self.path = self.folder / "two.pcapng"
        self.path.write_bytes(octets)
        self.saved = self.folder / "saved.pcapng"

    def sections(self, path):
        return [(options.get(1), options.get(4)) for kind, options in blocks_of(path) if kind == SECTION]

    def drops(self, path):
        return [struct.unpack("<Q", options[7][0])[0] for kind, options in blocks_of(path) if kind == STATISTICS]

    def test_every_section_has_its_comment_and_its_counts(self):
        self.succeeds(dump("-r", self.path, "-w", self.saved))
        self.assertEqual([kind for kind, _ in blocks_of(self.saved)], [kind for kind, _ in blocks_of(self.path)])
        self.assertEqual(self.sections(self.saved), [([b"first section"], [b"a tool"]), ([b"second section"], [b"a tool"])])
        self.assertEqual(self.drops(self.saved), [14, 18])
        for path in (self.path, self.saved):
            told = json.loads(self.succeeds(run("flows", "-r", path, "--json")))
            self.assertEqual(told["capture"]["kernel_dropped"], 14 + 18)

    @needs("capinfos")
    def test_another_program_sees_the_same(self):
        self.succeeds(dump("-r", self.path, "-w", self.saved))
        told = [subprocess.run(["capinfos", "-r", "-T", "-c", "-d", path], capture_output=True, text=True,
                               env=ENVIRONMENT, check=True).stdout.split("\t")[1:] for path in (self.path, self.saved)]
        self.assertEqual(told[0], told[1])

    @needs("tshark")
    def test_sections_without_packets_are_kept_where_all_was_read(self):
        with open(self.path, "ab") as file:
            file.write(section(option(1, b"third")) + interface(option(2, b"eth1")) + statistics(5))
        self.succeeds(dump("-r", self.path, "-Y", "frame.number > 12", "-w", self.saved))
        self.assertEqual(self.sections(self.saved)[2][0], [b"third"])
        self.assertEqual(self.drops(self.saved), [14, 18, 5])
        numbers = ["-T", "fields", "-e", "frame.len"]
        self.assertEqual(tshark("-r", self.saved, *numbers).stdout,
                         tshark("-r", self.path, "-Y", "frame.number > 12", *numbers).stdout)
        self.succeeds(dump("-r", self.path, "-c", 2, "-w", self.saved))
        self.assertEqual(self.sections(self.saved), [([b"first section"], [b"a tool"])])

    def test_files_of_a_ring_are_of_the_section_of_their_packets(self):
        self.succeeds(dump("-r", self.path, "-w", self.saved, "-C", "1k"))
        files = sorted(self.folder.glob("saved.pcapng*"), key=lambda path: int("0" + path.name[len("saved.pcapng"):]))
        self.assertGreater(len(files), 3)
        self.assertEqual(self.sections(files[0])[0][0], [b"first section"])
        self.assertEqual(self.sections(files[-1])[0][0], [b"second section"])
        frames = [kind for path in files for kind, _ in blocks_of(path) if kind == PACKET]
        self.assertEqual(len(frames), len(frames_of(PCAPS / "rxe-verbs-rnr.pcap")))

    @needs("mergecap")
    def test_interfaces_that_are_described_alike_stay_apart(self):
        source = PCAPS / "rxe-write-bw-64k.pcap"
        rdma = len(frames_of(source)) - 1  # tshark: all but a router solicitation
        twice = self.folder / "twice.pcapng"
        subprocess.run(["mergecap", "-I", "none", "-w", twice, source, source], check=True, capture_output=True)
        self.succeeds(dump("-r", twice, "-w", self.saved))
        self.assertEqual(sum(kind == INTERFACE for kind, _ in blocks_of(self.saved)), 2)
        for path in (twice, self.saved):
            told = json.loads(self.succeeds(run("flows", "-r", path, "--json")))
            self.assertEqual(told["capture"]["seen_twice"], rdma)


class Comments(TestCase):
    """A packet may have several, which are values of their own. tshark is the judge."""

    COMMENTS = [[b"one", b"two"], [], [b""], [b"", b"x"], [b"x", b""], [b"x", b"", b"y"], ["ä \"b\"".encode()], [b"x\0y", b"z"]]

    def setUp(self):
        super().setUp()
        frames = frames_of(RPING)
        self.path = self.folder / "comments.pcapng"
        self.path.write_bytes(section() + interface(option(2, b"eth0")) + b"".join(
            packet(frames[i], *(option(1, text) for text in texts)) for i, texts in enumerate(self.COMMENTS)))

    @needs("tshark")
    def test_each_is_a_value(self):
        fields = ["-e", "frame.number", "-e", "frame.comment"]
        for options in (["-T", "fields"], ["-T", "fields", "-E", "occurrence=l"], ["-T", "fields", "-E", "aggregator=/s"]):
            with self.subTest(options=options):
                self.assertEqual(self.succeeds(dump("-r", self.path, *options, *fields)),
                                 tshark("-r", self.path, *options, *fields).stdout)
        ours, theirs = ([record["_source"]["layers"] for record in json.loads(text)] for text in (
            self.succeeds(dump("-r", self.path, "-T", "json", *fields)), tshark("-r", self.path, "-T", "json", *fields).stdout))
        self.assertEqual(ours, theirs)

    @needs("tshark")
    def test_each_is_counted_and_compared(self):
        for expression in ("count(frame.comment) == 1", "count(frame.comment) == 2", "count(frame.comment) == 3",
                           'frame.comment == "two"', 'frame.comment == ""', "frame.comment"):
            with self.subTest(expression=expression):
                options = ["-r", self.path, "-Y", expression, "-T", "fields", "-e", "frame.number"]
                self.assertEqual(self.succeeds(dump(*options)), tshark(*options).stdout)

    def test_each_is_saved_as_one(self):
        self.succeeds(dump("-r", self.path, "-w", self.folder / "saved.pcapng"))
        saved = [options.get(1, []) for kind, options in blocks_of(self.folder / "saved.pcapng") if kind == PACKET]
        # A comment ends where text ends for those that read it.
        self.assertEqual(saved, [[text.split(b"\0")[0] for text in texts] for texts in self.COMMENTS])


class Streams(TestCase):
    """Standard streams that are closed, or have nothing to say for long."""

    def closed(self, descriptor, *arguments, capture=os.devnull):
        with open(capture, "rb") as stdin:
            return subprocess.run([BINARY, "dump", *map(str, arguments)], env=ENVIRONMENT, stdin=stdin,
                                  stdout=subprocess.PIPE if descriptor != 1 else None,
                                  stderr=subprocess.PIPE if descriptor != 2 else None,
                                  preexec_fn=lambda: os.close(descriptor))

    def test_messages_do_not_go_into_the_capture(self):
        # With standard input, what is saved is the first that is opened.
        cut = self.folder / "cut.pcap"
        cut.write_bytes(RPING.read_bytes()[:-3])
        self.fails(dump("-r", cut, "-w", self.folder / "open.pcap"))
        result = self.closed(2, "-r", "-", "-w", self.folder / "closed.pcap", capture=cut)
        self.assertEqual(result.returncode, 1)
        self.assertEqual((self.folder / "closed.pcap").read_bytes(), (self.folder / "open.pcap").read_bytes())

    def test_text_does_not_go_into_the_capture(self):
        saved = self.folder / "a.pcap"
        result = self.closed(1, "-r", "-", "-w", saved, "--print", capture=RPING)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"standard output: Bad file descriptor", result.stderr)
        self.assertTrue(RPING.read_bytes().startswith(saved.read_bytes()))

    def test_a_closed_standard_input_is_no_capture(self):
        result = self.closed(0, "-r", "-")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"Bad file descriptor", result.stderr)

    def test_signals_are_answered_while_nothing_comes(self):
        saved = self.folder / "a.pcap"
        process = subprocess.Popen([BINARY, "dump", "-r", "-", "-w", saved], env=ENVIRONMENT, stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for stream in (process.stdin, process.stderr):
            self.addCleanup(stream.close)
        frames = RPING.read_bytes()[:24 + sum(16 + len(frame) for frame in frames_of(RPING)[:5])]
        process.stdin.write(frames)
        process.stdin.flush()
        wait_for_reader(process)
        process.send_signal(signal.SIGUSR1)
        self.assertTrue(select.select([process.stderr], [], [], 20)[0], "no answer")
        self.assertEqual(process.stderr.readline(), b"5 packets read, 5 matched\n")
        self.assertEqual(saved.read_bytes(), b"", "buffered so far")
        process.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + 30
        while saved.read_bytes() != frames and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(saved.read_bytes(), frames)
        process.stdin.close()
        self.assertEqual(process.wait(10), 0)


@unittest.skipUnless(os.geteuid() == 0, "only root makes files of other users")
class SharedFolders(TestCase):
    """What another user has put into the way of root's output, in a folder that all users may write."""
    STRANGER = 65534

    def setUp(self):
        super().setUp()
        self.victim = self.folder / "victim"
        self.victim.write_text("theirs")
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.link = self.shared / "link"
        self.link.symlink_to(self.victim)
        self.environment = {name: value for name, value in ENVIRONMENT.items() if name != "SUDO_UID"}

    def commands(self):
        return (("dump", "-r", RPING, "-w", self.link), ("run", "--trace", self.link, "/bin/true"),
                ("doctor", "--export", self.link), ("doctor", "--bundle", self.link))

    def test_a_link_of_another_user_is_not_followed(self):
        os.chown(self.link, self.STRANGER, self.STRANGER, follow_symlinks=False)
        for command in self.commands():
            with self.subTest(command=command):
                told = self.fails(run(*command, env=self.environment))
                self.assertIn("symbolic link `link`, which another user can change", told)
                self.assertEqual(self.victim.read_text(), "theirs")

    def test_an_own_link_is_followed(self):
        self.succeeds(run("dump", "-r", RPING, "-w", self.link, "--format", "pcap", env=self.environment))
        self.assertEqual(frames_of(self.victim), frames_of(RPING))


if __name__ == "__main__":
    unittest.main()
