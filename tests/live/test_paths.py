"""Paths between two hosts on a network that hashes: what `paths` says of entropies and their shares is what the interfaces of four
legs counted, the entropies of the leg that loses are the sick ones, and a leg that goes away makes none."""
import collections
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

from frames import frames_of
from legs import ADDRESSES, Legs, Watch, entropies_of
from path import BINARY, PATIENCE_SECONDS, needs_namespaces, rdmascope

FRAME_SENDER = os.environ["RDMASCOPE_FRAME_SENDER"]
MAKE_ROUTES = os.environ["RDMASCOPE_MAKE_ROUTES"]
PORT = 7174
LEGS = 4
# What frame_sender sends passes no tap of its own interface: the router's is the nearest.
NEAR, FAR = ("one", "host"), ("far", "eth0")
LEG_ENDS = [("one", f"leg{number}") for number in range(LEGS)]


def setUpModule():
    needs_namespaces()
    if not shutil.which("tcpdump"):
        raise unittest.SkipTest("tcpdump is not installed: there is no second source")
    try:
        with Legs():
            pass
    except AssertionError as error:
        raise unittest.SkipTest(f"there can be no routes with several next hops here: {error}")


def fairness(shares):
    """Jain, Chiu, Hawe: A quantitative measure of fairness. 1984."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def write_pcap(file, frames):
    """Frames with their times, in nanoseconds."""
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for time_ns, frame in frames:
            out.write(struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(frame), len(frame)) + frame)


def numbered(frames):
    """The frames with identifications that each sender counts up (RFC 6864 permits any), as a repeat has one of its own."""
    numbers, made = collections.Counter(), []
    for frame in frames:
        numbers[frame[34:36]] += 1
        header = frame[14:18] + struct.pack("!H", numbers[frame[34:36]] & 0xffff) + frame[20:24] + bytes(2) + frame[26:34]
        total = sum(struct.unpack("!10H", header))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        made.append(frame[:14] + header[:10] + struct.pack("!H", ~total & 0xffff) + header[12:] + frame[34:])
    return made


class Paths(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-paths-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, *settings):
        """RoCEv2 frames that host `near` sends, from queue pairs with a source port each."""
        file = self.folder / "sent.pcap"
        subprocess.run([MAKE_ROUTES, file, self.folder / "truth.json", "routes=1", "tap=before", "order=placing", *settings], check=True,
                       timeout=PATIENCE_SECONDS)
        near = bytes(map(int, ADDRESSES["near"].split(".")))
        return [frame for frame, _ in frames_of(file) if frame[26:30] == near]

    def send(self, legs, frames, rate=20000):
        file = self.folder / "frames.pcap"
        write_pcap(file, [(number, frame) for number, frame in enumerate(frames)])
        return legs.start("near", FRAME_SENDER, "eth0", file, "--rate", rate)

    def paths(self, file, *options):
        shown = rdmascope("paths", "-r", file, "--json", *options)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        pairs = [pair for pair in json.loads(shown.stdout)["pairs"] if pair["source"]["address"] == ADDRESSES["near"]]
        self.assertEqual(len(pairs), 1, shown.stdout[:2000])
        self.assertEqual(pairs[0]["destination"]["address"], ADDRESSES["far"])
        return pairs[0]

    def legs_of(self, watch):
        """Which leg each entropy took; every entropy took one."""
        legs = {}
        for number, place in enumerate(LEG_ENDS):
            for ports in entropies_of(watch.file(*place)):
                self.assertNotIn(ports, legs, "an entropy took two legs")
                legs[ports] = number
        return legs

    def compare(self, pair, legs, port_of, counted):
        """Bytes of the entropies, added up on the legs that they took, against the interfaces' counters."""
        shares = [0] * LEGS
        for row in pair["rows"]:
            shares[legs[port_of(row["entropy"])]] += row["bytes"]
        self.assertEqual(pair["entropies"], len(legs))
        self.assertAlmostEqual(fairness(shares), fairness(counted), delta=0.01)
        for share, count in zip(shares, counted):
            self.assertAlmostEqual(share / sum(shares), count / sum(counted), delta=0.01)

    def sick(self, pair, port_of):
        return {port_of(row["entropy"]) for row in pair["rows"] if row["verdict"] == "path_sick"}

    def test_shares_of_roce(self):
        frames = self.make("pairs=24", "packets=900", "uneven=1")
        with Legs(LEGS) as legs, Watch(legs, "udp", NEAR, *LEG_ENDS) as watch:
            before = legs.counters()
            self.assertEqual(self.send(legs, frames).wait(PATIENCE_SECONDS), 0)
            watch.finish()
            counted = [after - first for after, first in zip(legs.counters(), before)]
            self.assertEqual(sum(counted), sum(map(len, frames)))
            pair = self.paths(watch.file(*NEAR))
            self.compare(pair, self.legs_of(watch), roce_ports, counted)
            self.assertAlmostEqual(pair["fairness"], fairness([row["bytes"] for row in pair["rows"]]), delta=0.001)
            self.assertEqual(sum(row["packets"] for row in pair["rows"]), len(frames))
            self.assertEqual(self.sick(pair, roce_ports), set())

    def test_shares_of_iwarp(self):
        """Where a busy machine makes TCP send again, Linux gives the connection another hash: that is another try. Little is on its way
        at a time, so that no queue overflows, and no probe of the tail is sent."""
        for _ in range(10):
            with Legs(LEGS) as legs, Watch(legs, f"tcp port {PORT}", NEAR, *LEG_ENDS) as watch:
                for end in ("near", "far"):
                    legs.run(end, "sysctl", "-qw", "net.ipv4.tcp_wmem=4096 16384 16384", "net.ipv4.tcp_early_retrans=0")
                server = legs.start("far", BINARY, "endpoint", "serve", "--listen", f"{ADDRESSES['far']}:{PORT}", "--json", ready="ready")
                before = legs.counters()
                done = legs.run("near", BINARY, "endpoint", "bench", "write", "--size", "20000", "--count", "100", "--connections", "16",
                                "--to", f"{ADDRESSES['far']}:{PORT}", "--json", check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                legs.stop(server)
                watch.finish()
                if segments_sent_again(legs, "near") or segments_sent_again(legs, "far"):
                    continue
                counted = [after - first for after, first in zip(legs.counters(), before)]
                pair = self.paths(watch.file(*NEAR))
                self.compare(pair, self.legs_of(watch), iwarp_ports, counted)
                self.assertEqual(self.sick(pair, iwarp_ports), set())
                return
        self.fail("TCP sent again in every try")

    def placed(self, legs, frames):
        """Which leg each port takes, by one packet of each."""
        first = {}
        for frame in frames:
            first.setdefault(int.from_bytes(frame[34:36], "big"), frame)
        with Watch(legs, "udp", *LEG_ENDS) as watch:
            self.assertEqual(self.send(legs, list(first.values()), 1000).wait(PATIENCE_SECONDS), 0)
            watch.finish()
            return {ports[0]: leg for ports, leg in self.legs_of(watch).items()}

    def with_repeats(self, frames, lossy, every):
        """What a sender sends that repeats what the relay drops, nine packets later; and how many are dropped. Every Nth packet of
        the ports on the leg is."""
        sent, waiting, crossed, dropped = [], {}, 0, 0
        for frame in frames:
            port = int.from_bytes(frame[34:36], "big")
            sent.append(frame)
            if port not in lossy:
                continue
            crossed += 1
            queue = waiting.setdefault(port, [])
            if crossed % every == 0:
                dropped += 1
                queue.append([9, frame])
            for entry in queue:
                entry[0] -= 1
            if queue and queue[0][0] <= 0 and (crossed + 1) % every != 0:
                sent.append(queue.pop(0)[1])
                crossed += 1
        return sent, dropped

    def lossy_leg(self, legs, frames, every):
        """Three ports that cross the leg where every Nth packet is dropped, and the frames without those of further ports that do."""
        placed = self.placed(legs, frames)
        lossy = sorted(port for port, leg in placed.items() if leg == 0)
        self.assertGreaterEqual(len(lossy), 3)
        self.assertGreaterEqual(len(placed) - len(lossy), 13)
        left_out = set(lossy[3:])
        # The packets that found the way have passed the relay, too: the rest of a round is sent before.
        first = next(frame for frame in frames if int.from_bytes(frame[34:36], "big") == lossy[0])
        self.assertEqual(self.send(legs, [first] * (every - len(lossy)), 1000).wait(PATIENCE_SECONDS), 0)
        return {(port, 4791) for port in lossy[:3]}, [frame for frame in frames if int.from_bytes(frame[34:36], "big") not in left_out]

    def test_the_leg_that_loses(self):
        """Three entropies of at least sixteen cross the leg where every 60th packet is dropped."""
        every = 60
        frames = self.make("pairs=40", "packets=1500")
        with Legs(LEGS, relay=["--of", "roce", "--drop-every", every, "--direction", "forward"]) as legs:
            wrong, kept = self.lossy_leg(legs, frames, every)
            sent, expected = self.with_repeats(kept, {port for port, _ in wrong}, every)
            sent = numbered(sent)
            with Watch(legs, "udp", FAR, *LEG_ENDS) as watch:
                self.assertEqual(self.send(legs, sent, 10000).wait(PATIENCE_SECONDS), 0)
                watch.finish()
                dropped = len(legs.relayed()["forward"]["dropped"])
                self.assertEqual(dropped - 1, expected)
                # Identifications were written after the ICRC, which covers them.
                pair = self.paths(watch.file(*FAR), "--no-crc")
                self.assertEqual(self.sick(pair, roce_ports), wrong)
                # The relay drops single packets, far from each other: each is an episode.
                episodes = {roce_ports(row["entropy"]): row["loss_episodes"] for row in pair["rows"]}
                self.assertAlmostEqual(sum(episodes[ports] for ports in wrong), expected, delta=0.1 * expected)
                self.assertEqual(sum(episodes.values()), sum(episodes[ports] for ports in wrong))

    def test_a_leg_that_lost_and_was_taken_out(self):
        """The same leg, until the routes leave it out in the middle: its entropies are not sick any more, and `paths` and `why` say
        until when they were."""
        every = 60
        frames = self.make("pairs=40", "packets=1500")
        with Legs(LEGS, relay=["--of", "roce", "--drop-every", every, "--direction", "forward"]) as legs:
            wrong, kept = self.lossy_leg(legs, frames, every)
            half = len(kept) // 2
            before, expected = self.with_repeats(kept[:half], {port for port, _ in wrong}, every)
            sent = numbered(before + kept[half:])
            with Watch(legs, "udp", FAR) as watch:
                self.assertEqual(self.send(legs, sent[:len(before)], 10000).wait(PATIENCE_SECONDS), 0)
                time.sleep(0.2)
                changed_ns = time.time_ns()
                legs.route("near", range(1, LEGS))
                self.assertEqual(self.send(legs, sent[len(before):], 10000).wait(PATIENCE_SECONDS), 0)
                watch.finish()
                self.assertEqual(len(legs.relayed()["forward"]["dropped"]) - 1, expected)
                pair = self.paths(watch.file(*FAR), "--no-crc")
                self.assertEqual(self.sick(pair, roce_ports), set())
                recovered = [row for row in pair["rows"] if row["verdict"] == "path_recovered"]
                self.assertEqual({roce_ports(row["entropy"]) for row in recovered}, wrong)
                for row in recovered:
                    self.assertLess(row["last_loss_ns"], changed_ns)
                answers = json.loads(rdmascope("why", "-r", watch.file(*FAR), "--no-crc", "--json").stdout)["answers"]
                self.assertNotIn("path_sick", {answer["verdict"] for answer in answers})
                said = [answer for answer in answers if answer["verdict"] == "path_recovered"]
                self.assertEqual(len(said), len(wrong))
                self.assertFalse(any(answer["alarm"] for answer in said))

    def test_the_leg_that_loses_with_iwarp(self):
        """Connections repair what the relay drops; those that are called sick cross its leg. Their ports are chance."""
        for _ in range(10):
            with Legs(LEGS, relay=["--of", "tcp", "--drop-every", "50", "--direction", "forward"]) as legs, \
                    Watch(legs, f"tcp port {PORT}", NEAR, *LEG_ENDS) as watch:
                server = legs.start("far", BINARY, "endpoint", "serve", "--listen", f"{ADDRESSES['far']}:{PORT}", "--json", ready="ready")
                done = legs.run("near", BINARY, "endpoint", "bench", "write", "--size", "20000", "--count", "100", "--connections", "24",
                                "--to", f"{ADDRESSES['far']}:{PORT}", "--json", check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                legs.stop(server)
                watch.finish()
                # After a time-out, Linux gives a connection another hash: it may have crossed several legs.
                lossy = set(entropies_of(watch.file(*LEG_ENDS[0])))
                if not 2 <= len(lossy) <= 6:
                    continue
                sick = self.sick(self.paths(watch.file(*NEAR)), iwarp_ports)
                self.assertGreater(len(sick), 0)
                self.assertLessEqual(sick, lossy)
                return
        self.fail("no hash put two to six of 24 connections on a leg")

    def test_a_leg_that_goes_away(self):
        """One end of a leg is cut; its packets are lost until the routes leave it out. Its entropies take other legs then: none of them
        is called sick."""
        frames = self.make("pairs=24", "packets=1500")
        with Legs(LEGS) as legs, Watch(legs, "udp", FAR, *LEG_ENDS) as watch:
            sender = self.send(legs, frames, 10000)
            time.sleep(1.2)
            legs.ip("two", "link", "set", f"leg{LEGS - 1}", "down")
            time.sleep(0.1)
            legs.route("near", range(LEGS - 1))
            self.assertEqual(sender.wait(PATIENCE_SECONDS), 0)
            watch.finish()
            lost = len(frames) - sum(entropies_of(watch.file(*FAR)).values())
            self.assertGreater(lost, 50)
            pair = self.paths(watch.file(*FAR))
            self.assertEqual(sum(row["packets"] for row in pair["rows"]), len(frames) - lost)
            self.assertEqual(self.sick(pair, roce_ports), set())


def segments_sent_again(legs, host):
    """What the kernel of a host has counted since its namespace was made."""
    names, values = (line.split() for line in legs.run(host, "cat", "/proc/net/snmp").stdout.splitlines() if line.startswith("Tcp:"))
    return int(dict(zip(names, values))["RetransSegs"])


def roce_ports(entropy):
    """What `paths` calls the entropy of RoCEv2 over IPv4: its source port."""
    return int(entropy), 4791


def iwarp_ports(entropy):
    """What `paths` calls the entropy of a TCP connection: both ports."""
    source, destination = entropy.split(" > ")
    return int(source), int(destination)


if __name__ == "__main__":
    unittest.main()
