"""What the tests of `rdmascope top` share: the captures that are shown, and the figures in a picture, held to what `flows --json`
prints of the same packets."""
import json
import re
import shlex

from command import BINARY, PCAPS, run
from screen import wait_for

LOSSY = PCAPS / "rxe-rxdrop1pct-write-bw.pcap.gz"
DEMO = PCAPS / "demo-loopback.pcap.gz"
RPING = PCAPS / "rxe-rping.pcap"
COUNTS = "id,packets,retransmitted_packets,messages.write.count"


def top(*arguments, **options):
    return run("top", *arguments, **options)


def flows_of(capture, *arguments):
    return json.loads(run("flows", "-n", "--json", "-r", capture, *arguments).stdout)["flows"]


def rows(picture):
    """The table of counts: id -> the cells after it, as they stand."""
    found = {}
    for line in picture.splitlines():
        if match := re.match(r"^ ?!? +(\d+((?: +[\d.k]+)+)) *$", line):
            number, *cells = match[1].split()
            found[int(number)] = cells
    return found


def counted(flows):
    """The same from JSON; counts below 10,000 stand as they are."""
    return {flow["id"]: [str(flow["packets"]), str(flow["retransmitted_packets"]), str(flow["messages"]["write"]["count"])]
            for flow in flows}


def told(*arguments):
    """A command whose last words can be read when it has ended."""
    return ["sh", "-c", f"{shlex.join(map(str, [BINARY, 'top', *arguments]))}; echo status $?; exec sleep 600"]


def shows_all_of(screen, capture, *arguments):
    """Waits for the figures of the whole file: its end is told a moment before them."""
    wanted = counted(flows_of(capture, *arguments))
    screen.shows(" END ", "since the start")
    shows_rows(screen, wanted)


def shows_rows(screen, wanted):
    """Waits for the table of counts: a picture that is taken while the program draws has but a part of it."""
    wait_for(lambda: f"{wanted} in\n{screen.text()}", lambda: rows(screen.text()) == wanted)


def shows_packets(screen, *wanted):
    """Waits for the flows' packets, from the first row to the last."""
    wait_for(lambda: f"{wanted} in\n{screen.text()}", lambda: packets_of(screen) == list(wanted))


def packets_of(screen):
    """The packets of the flows that are shown, from the first row to the last."""
    return [int(cells[0]) for cells in rows(screen.text()).values()]
