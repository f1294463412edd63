"""RoCE traffic for the variants: two hosts, their queue pairs, and schedules of messages between them."""
import dataclasses
import random

from blocks import *

FIRST, MIDDLE, LAST, ONLY = "first", "middle", "last", "only"
OPCODES = {"send": {FIRST: 0x00, MIDDLE: 0x01, LAST: 0x02, ONLY: 0x04},
           "write": {FIRST: 0x06, MIDDLE: 0x07, LAST: 0x08, ONLY: 0x0A},
           "write_immediate": {FIRST: 0x06, MIDDLE: 0x07, LAST: 0x09, ONLY: 0x0B},
           "response": {FIRST: 0x0D, MIDDLE: 0x0E, LAST: 0x0F, ONLY: 0x10}}
READ, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD = 0x0C, 0x11, 0x12, 0x13, 0x14
ADDRESS, KEY = 0x7F0000001000, 0x1234
# AETH syndromes (IBA table 45): credits unlimited; RNR with the code of its timer; NAK codes.
ACK, RNR, SEQUENCE_NAK, INVALID_NAK = 0x1F, 0x20, 0x60, 0x61
RNR_1_28_MS = 14
US, MS = 1_000, 1_000_000


@dataclasses.dataclass
class Frame:
    time_ns: int
    data: bytes
    length: int = None  # on the wire, where the capture holds less

    def __post_init__(self):
        self.length = self.length or len(self.data)


class Host:
    """A network interface with its addresses; identifications of IPv4 count up as Linux's do."""

    def __init__(self, number, ipv6=False, identification=None):
        self.mac = bytes([2, 0, 0, 0, 0, number])
        self.ipv6 = ipv6
        self.address = bytes.fromhex("20010db8") + bytes(11) + bytes([number]) if ipv6 else bytes([192, 0, 2, number])
        self.identification = 1000 * number if identification is None else identification

    def next_identification(self):
        self.identification = self.identification + 1 & 0xFFFF
        return self.identification


def ip_frame(source, destination, protocol, payload, tos=2, ttl=64):
    if source.ipv6:
        packet = ipv6(protocol, payload, source.address, destination.address, tos, hops=ttl)
    else:
        packet = ipv4(protocol, payload, source.address, destination.address, tos, ttl, source.next_identification())
    return ethernet(0x86DD if source.ipv6 else 0x0800, packet, source.mac, destination.mac)


class QueuePair:
    """A reliable connection: requests of `a`, answers of `b`. Every call puts one frame at a time that it is given."""

    def __init__(self, frames, a, b, qp_a=0x21, qp_b=0x20, psn=100, source_port=49152, mtu=1024, tos=2, version=2):
        self.frames, self.a, self.b, self.qp_a, self.qp_b = frames, a, b, qp_a, qp_b
        self.psn, self.msn, self.source_port, self.mtu, self.tos, self.version = psn, 0, source_port, mtu, tos, version

    def put(self, time_ns, source, destination, transport, damage=0):
        if self.version == 1:
            # RoCEv1: the GRH's addresses are the IPv4 addresses mapped.
            gid = lambda host: host.address if host.ipv6 else bytes(10) + b"\xff\xff" + host.address
            packet = rocev1(transport, source=gid(source), destination=gid(destination))
            self.frames.append(Frame(time_ns, ethernet(0x8915, packet, source.mac, destination.mac)))
            return
        if source.ipv6:
            packet = rocev2_ipv6(transport, source.address, destination.address, self.tos, source_port=self.source_port)
        else:
            packet = rocev2(transport, source.address, destination.address, self.tos, source_port=self.source_port,
                            damage=damage, identifier=source.next_identification())
        kind = 0x86DD if source.ipv6 else 0x0800
        self.frames.append(Frame(time_ns, ethernet(kind, packet, source.mac, destination.mac)))

    def request(self, time_ns, opcode, psn, extended=b"", payload=b"", ask=1, damage=0):
        transport = padded((opcode, extended), payload, destination_qp=self.qp_b, psn=psn, acknowledge=ask)
        self.put(time_ns, self.a, self.b, transport, damage)

    def answer(self, time_ns, opcode, psn, extended=b"", payload=b""):
        transport = padded((opcode, extended), payload, destination_qp=self.qp_a, psn=psn)
        self.put(time_ns, self.b, self.a, transport)

    def acknowledge(self, time_ns, psn, syndrome=ACK, msn=None):
        if syndrome == ACK and msn is None:
            self.msn += 1
        self.answer(time_ns, ACKNOWLEDGE, psn, aeth(syndrome, self.msn if msn is None else msn))

    def send_message(self, time_ns, operation, sizes, first_psn, packet_gap_ns=400, only=None, damaged=(), order=None):
        """The packets of a SEND or WRITE; `only` and `order` name packets by their place. The time of the last one."""
        total, last = sum(sizes), len(sizes) - 1
        places = list(order or range(len(sizes)))
        # The sender's order, in which identifications count up, is that of the places; `order` is how they pass the capture.
        for place in range(len(sizes)):
            if only is not None and place not in only:
                continue
            part = ONLY if last == 0 else FIRST if place == 0 else LAST if place == last else MIDDLE
            extended = reth(ADDRESS, KEY, total) if operation != "send" and part in (FIRST, ONLY) else b""
            extended += immdt(7) if operation == "write_immediate" and part in (LAST, ONLY) else b""
            self.request(time_ns + places.index(place) * packet_gap_ns, OPCODES[operation][part], first_psn + place, extended,
                         pattern(sizes[place]), ask=int(part in (LAST, ONLY)), damage=int(place in damaged) * 0x5A5A)
        return time_ns + (len(places) - 1) * packet_gap_ns

    def read_request(self, time_ns, psn, size):
        self.request(time_ns, READ, psn, reth(ADDRESS, KEY, size))

    def read_responses(self, time_ns, psn, sizes, packet_gap_ns=400, order=None):
        last = len(sizes) - 1
        places = list(order or range(len(sizes)))
        for place in range(len(sizes)):
            part = ONLY if last == 0 else FIRST if place == 0 else LAST if place == last else MIDDLE
            self.answer(time_ns + places.index(place) * packet_gap_ns, OPCODES["response"][part], psn + place,
                        b"" if part == MIDDLE else aeth(ACK, self.msn), pattern(sizes[place]))
        return time_ns + last * packet_gap_ns

    def atomic_request(self, time_ns, psn, opcode=FETCH_ADD):
        self.request(time_ns, opcode, psn, atomiceth(ADDRESS, KEY, 1, 0))

    def atomic_answer(self, time_ns, psn):
        self.answer(time_ns, ATOMIC_ACKNOWLEDGE, psn, aeth(ACK, self.msn) + atomicacketh(41))

    # A whole message and its answer, `answer_ns` after its last packet. The time of the last frame.
    def exchange(self, time_ns, operation, packets=1, size=None, answer_ns=8 * US, packet_gap_ns=400, order=None):
        sizes = [self.mtu] * (packets - 1) + [self.mtu if size is None else size]
        psn = self.psn
        if operation in ("fetch_add", "compare_swap"):
            self.psn += 1
            self.atomic_request(time_ns, psn, FETCH_ADD if operation == "fetch_add" else COMPARE_SWAP)
            self.msn += 1
            self.atomic_answer(time_ns + answer_ns, psn)
            return time_ns + answer_ns
        self.psn += packets
        if operation == "read":
            self.read_request(time_ns, psn, sum(sizes))
            self.msn += 1
            return self.read_responses(time_ns + answer_ns, psn, sizes, packet_gap_ns, order)
        end = self.send_message(time_ns, operation, sizes, psn, packet_gap_ns, order=order) + answer_ns
        self.acknowledge(end, psn + packets - 1)
        return end


class Cm:
    """The connection manager's messages between two hosts (IBA 12.6)."""

    def __init__(self, frames, pair):
        self.frames, self.pair, self.psn = frames, pair, 0

    def put(self, time_ns, source, destination, message):
        self.psn += 1
        packet = rocev2(gmp(message, self.psn), source.address, destination.address, identifier=source.next_identification())
        self.frames.append(Frame(time_ns, ethernet(0x0800, packet, source.mac, destination.mac)))

    def request(self, time_ns, port=4420, responder=4, initiator=4, retry=7, rnr_retry=7, mtu=3):
        pair = self.pair
        mapped = lambda host: int.from_bytes(bytes(10) + b"\xff\xff" + host.address, "big")
        path = [(0xFFFF, 16), (0xFFFF, 16), (mapped(pair.a), 128), (mapped(pair.b), 128), (0, 20), (0, 6), (3, 6), (0, 8), (64, 8), (0, 4),
                (0, 1), (0, 3), (18, 5), (0, 3)]
        self.put(time_ns, pair.a, pair.b, cm(
            0x0010, (0x11, 32), (0, 32), (0x0000000001060000 | port, 64), (0x02000000000001, 64), (0, 32), (0, 32), (pair.qp_a, 24),
            (responder, 8), (0, 24), (initiator, 8), (0, 24), (18, 5), (0, 2), (1, 1), (pair.psn, 24), (18, 5), (retry, 3),
            (0xFFFF, 16), (mtu, 4), (1, 1), (rnr_retry, 3), (15, 4), (0, 1), (0, 3), *path, (0, 352)))

    def reply(self, time_ns, responder=4, initiator=4, rnr_retry=7):
        pair = self.pair
        self.put(time_ns, pair.b, pair.a, cm(
            0x0013, (0x22, 32), (0x11, 32), (0, 32), (pair.qp_b, 24), (0, 8), (0, 24), (0, 8), (900, 24), (0, 8), (responder, 8),
            (initiator, 8), (16, 5), (0, 2), (1, 1), (rnr_retry, 3), (0, 1), (0, 4), (0x02000000000002, 64)))

    def ready(self, time_ns):
        self.put(time_ns, self.pair.a, self.pair.b, cm(0x0014, (0x11, 32), (0x22, 32)))

    def disconnect(self, time_ns):
        self.put(time_ns, self.pair.a, self.pair.b, cm(0x0015, (0x11, 32), (0x22, 32), (self.pair.qp_b, 24), (0, 8)))
        self.put(time_ns + 300 * US, self.pair.b, self.pair.a, cm(0x0016, (0x22, 32), (0x11, 32)))

    def connect(self, responder=4, initiator=4, retry=7, rnr_retry=7):
        """The three messages from time 0 on; what follows may begin at 800 us."""
        self.request(0, retry=retry, rnr_retry=rnr_retry)
        self.reply(500 * US, responder, initiator, rnr_retry)
        self.ready(700 * US)
        return 800 * US


def hosts(ipv6):
    return Host(1, ipv6), Host(2, ipv6)


# --- traffic that descriptions name ------------------------------------------------------------------------------------

def messages(operations=("write",), count=16, packets=4, size=None, mtu=1024, answer_us=8, period_us=20, packet_gap_ns=400, ipv6=False,
             connect=None, psn=100, orders=None, every=4, pause_us=None, seed=1, version=2):
    """One message each `period_us`, of the operations in turn; those that last longer than a period overlap. With `orders`,
    each `every`th message goes, or is answered, in that order of its packets. With `pause_us`, a least and a most, each
    message begins after a pause of its own after the answer to the one before."""
    frames, generator = [], random.Random(seed)
    pair = QueuePair(frames, *hosts(ipv6), psn=psn, mtu=mtu, version=version)
    start = Cm(frames, pair).connect(**connect) if connect is not None else 0
    begin = start
    for number in range(count):
        order = orders if orders and number % every == 0 else None
        end = pair.exchange(begin, operations[number % len(operations)], packets, size, int(answer_us * US), packet_gap_ns, order)
        begin = start + int((number + 1) * period_us * US) if pause_us is None else end + generator.randint(*pause_us) * US
    return frames


def queue_pairs(ports=(49152,), pairs=8, count=8, packets=1, size=64, ipv6=False):
    """Queue pairs between the same two hosts, and the UDP source ports that they use in turn."""
    frames, ends = [], hosts(ipv6)
    talks = [QueuePair(frames, *ends, 0x200 + number, 0x100 + number, 1000 * (number + 1), ports[number % len(ports)])
             for number in range(pairs)]
    for number in range(count):
        for place, pair in enumerate(talks):
            pair.exchange((number * pairs + place) * 7 * US, "write", packets, size, 6 * US)
    return frames


def unanswered(operation="send", answered=0, retries=7, timeout_us=536_960, packets=1, size=64, ipv6=False, answered_at_last=False,
               version=2, peer_version=None, connect=None, disconnect_after_us=None):
    """`answered` messages that are acknowledged, then one that is sent 1 + `retries` times without an answer. With
    `peer_version` the peer sends requests of its own by that version of RoCE, on other queue pairs."""
    frames, ends = [], hosts(ipv6)
    pair = QueuePair(frames, *ends, 0x21, 0x1510, 7000, version=version)
    manager = Cm(frames, pair)
    time_ns = manager.connect(**connect) if connect is not None else 0
    for _ in range(answered):
        time_ns = pair.exchange(time_ns, operation, packets, size) + 50 * US
    sizes = [pair.mtu] * (packets - 1) + [size]
    for sending in range(retries + 1):
        at = time_ns + int(sending * timeout_us * US)
        if operation == "read":
            pair.read_request(at, pair.psn, sum(sizes))
        elif operation == "fetch_add":
            pair.atomic_request(at, pair.psn)
        else:
            at = pair.send_message(at, operation, sizes, pair.psn)
    if answered_at_last:
        pair.acknowledge(at + 8 * US, pair.psn + packets - 1)
        pair.psn += packets
        for number in range(4):
            at = pair.exchange(at + 100 * US, operation, packets, size)
    if peer_version is not None:
        other = QueuePair(frames, *reversed(ends), 0x1511, 0x22, 300, version=peer_version)
        for sending in range(retries + 1):
            other.send_message(time_ns + int((sending * timeout_us + 100) * US), operation, sizes, other.psn)
    if disconnect_after_us is not None:
        manager.disconnect(at + disconnect_after_us * US)
    return frames


def receiver_not_ready(answered=4, refusals=4, rnr_retry=3, timer=RNR_1_28_MS, timer_us=1300, recovers=False, connect=True, ipv6=False,
                       disconnect_after_us=20_000, disconnects=True, later_us=None, operation="send"):
    """SENDs that are taken, then one that is refused `refusals` times, sent again after each but the last. With `recovers`
    four more messages follow, else the sender disconnects or, without `disconnects`, nothing more of it
    is here; `later_us` after that another queue pair shows that the capture went on."""
    frames = []
    pair = QueuePair(frames, *hosts(ipv6))
    manager = Cm(frames, pair)
    time_ns = manager.connect(rnr_retry=rnr_retry) if connect else 0
    for _ in range(answered):
        time_ns = pair.exchange(time_ns, operation, 1, 64) + 50 * US
    for _ in range(refusals):
        pair.send_message(time_ns, operation, [64], pair.psn)
        pair.acknowledge(time_ns + 10 * US, pair.psn, RNR | timer)
        last = time_ns + 10 * US
        time_ns += (10 + timer_us) * US
    if recovers:
        for _ in range(4):
            time_ns = pair.exchange(time_ns, operation, 1, 64) + 50 * US
    elif disconnects:
        manager.disconnect(last + disconnect_after_us * US)
    if later_us is not None:
        QueuePair(frames, pair.a, pair.b, 0x31, 0x30, 5000).exchange(last + later_us * US, "write")
    return frames


def early_timer(operation="write", count=12, sendings_us=(0, 2000, 6000, 14000, 30000), way_us=40_000, answers=None, packets=1, size=64,
                ipv6=False):
    """Each message is sent at each of the times; each sending is answered `way_us` later, or only the last `answers`."""
    frames = []
    pair = QueuePair(frames, *hosts(ipv6), psn=1000)
    sizes = [pair.mtu] * (packets - 1) + [size]
    for number in range(count):
        start = number * (sendings_us[-1] + way_us + 5000) * US
        psn, pair.psn = pair.psn, pair.psn + packets
        pair.msn += 1
        for place, offset in enumerate(sendings_us):
            at = start + offset * US
            answered = answers is None or place >= len(sendings_us) - answers
            if operation == "read":
                pair.read_request(at, psn, sum(sizes))
                if answered:
                    pair.read_responses(at + way_us * US, psn, sizes)
            else:
                end = pair.send_message(at, operation, sizes, psn)
                if answered:
                    pair.acknowledge(end + way_us * US, psn + packets - 1, msn=pair.msn)
    return frames


def large_lost(operation="write", small=6, packets=4, mtu=4096, size=None, sendings=8, timeout_us=67_000, ipv6=False, large_before=False,
               small_lost=False):
    """Small messages that are acknowledged, then one of large packets that never is."""
    frames = []
    pair = QueuePair(frames, *hosts(ipv6), mtu=mtu)
    time_ns = 0
    if large_before:
        time_ns = pair.exchange(time_ns, operation, packets) + 50 * US
    for _ in range(small):
        time_ns = pair.exchange(time_ns, operation, 1, 64, 12 * US) + 50 * US
    sizes = [64] if small_lost else [mtu] * (packets - 1) + [mtu if size is None else size]
    for sending in range(sendings):
        pair.send_message(time_ns + sending * timeout_us * US, operation, sizes, pair.psn)
    return frames


def refused(operation="fetch_add", small=3, packets=2, mtu=4096, size=None, syndrome=INVALID_NAK, ipv6=False):
    """Small SENDs that are acknowledged, then a request that is refused with a NAK."""
    frames = []
    pair = QueuePair(frames, *hosts(ipv6), mtu=mtu)
    time_ns = 0
    for _ in range(small):
        time_ns = pair.exchange(time_ns, "send", 1, 64, 12 * US) + 50 * US
    if operation == "fetch_add":
        pair.atomic_request(time_ns, pair.psn)
    elif operation == "read":
        pair.read_request(time_ns, pair.psn, packets * mtu)
    else:
        sizes = [mtu] * (packets - 1) + [mtu if size is None else size]
        pair.send_message(time_ns, operation, sizes, pair.psn)
    pair.acknowledge(time_ns + 12 * US, pair.psn, syndrome, msn=pair.msn)
    return frames


def damaged(count=12, packets=4, every=4, by_timer=False, place=1):
    """WRITEs of which each `every`th has one packet with a bad ICRC, which its receiver drops: a NAK, and the sender goes
    back; or, with `by_timer`, the last packet, and a timer of 20 ms."""
    frames = []
    pair = QueuePair(frames, *hosts(False))
    time_ns, sizes = 0, [pair.mtu] * packets
    for number in range(count):
        first = pair.psn
        if number % every:
            time_ns = pair.exchange(time_ns, "write", packets) + 10 * US
            continue
        bad = packets - 1 if by_timer else place
        end = pair.send_message(time_ns, "write", sizes, first, damaged=(bad,))
        if by_timer:
            again = end + 20 * MS
        else:
            pair.acknowledge(end + 4 * US, first + bad, SEQUENCE_NAK, msn=pair.msn)
            again = end + 8 * US
        end = pair.send_message(again, "write", sizes, first, only=range(bad, packets))
        pair.acknowledge(end + 8 * US, first + packets - 1)
        pair.psn += packets
        time_ns = end + 18 * US
    return frames


def out_of_order_refused(count=12, packets=16, every=2):
    """One packet is overtaken by three; the receiver takes requests in order only, asks for it, and the sender goes back."""
    frames = []
    pair = QueuePair(frames, *hosts(False))
    time_ns, sizes = 0, [pair.mtu] * packets
    for number in range(count):
        first = pair.psn
        if number % every:
            time_ns = pair.exchange(time_ns, "write", packets) + 10 * US
            continue
        order = [0, 1, 2, 4, 5, 6, 3, *range(7, packets)]
        end = pair.send_message(time_ns, "write", sizes, first, order=order)
        pair.acknowledge(time_ns + 4 * US, first + 3, SEQUENCE_NAK, msn=pair.msn)
        end = pair.send_message(end + 4 * US, "write", sizes, first, only=range(3, packets)) + 8 * US
        pair.acknowledge(end, first + packets - 1)
        pair.psn += packets
        time_ns = end + 10 * US
    return frames


def management(what=("performance",), count=4, connect=False):
    """MADs that are no connection manager's, over RoCEv2."""
    classes = {"performance": (0x04, 0x01, 0x0012), "subnet_administration": (0x03, 0x01, 0x0035), "device": (0x06, 0x01, 0x0010),
               "vendor": (0x32, 0x03, 0x0000), "vendor_low": (0x0A, 0x01, 0x0001), "application": (0x11, 0x01, 0x0001)}
    frames, (a, b) = [], hosts(False)
    pair = QueuePair(frames, a, b)
    manager = Cm(frames, pair)
    time_ns = manager.connect() if connect else 0
    for number in range(count):
        for kind in what:
            management_class, method, attribute = classes[kind]
            manager.put(time_ns, a, b, mad(management_class, method, attribute, bytes(64), version=1, transaction=number))
            time_ns += MS
    return frames


def connect_requests(count=4, period_us=4_000_000, port=4420):
    """A REQ of the connection manager, again and again, that gets no answer."""
    frames = []
    manager = Cm(frames, QueuePair(frames, *hosts(False)))
    for number in range(count):
        manager.request(number * period_us * US, port)
    return frames
