"""What happens to frames between the wire and the file: copies, samples, cuts, rewritten headers, tunnels, carriers, damage.
Each step takes the frames and returns new ones; the first argument is the list, the others stand in the description."""
import dataclasses
import random

from blocks import *
from roce import US, Frame, Host, ip_frame

ETHERNET_SIZE = 14


def by_time(frames):
    return sorted(frames, key=lambda frame: frame.time_ns)


def source_mac(frame):
    return frame.data[6:12]


def is_from(frame, side):
    """Whether host `a` or `b` sent it, by its MAC address."""
    return source_mac(frame) == Host({"a": 1, "b": 2}[side]).mac


def ip_at(data):
    """(where the IP header begins, its version), or None."""
    kind = int.from_bytes(data[12:14], "big")
    return {0x0800: (14, 4), 0x86DD: (14, 6)}.get(kind)


def with_data(frame, data, length=None):
    return dataclasses.replace(frame, data=data, length=length or len(data))


def routed(data, hops=1, mac=True):
    """A frame as it looks after a router: TTL or hop limit less, a new IPv4 checksum, other MAC addresses."""
    place = ip_at(data)
    if place is None:
        return data
    at, version = place
    data = bytearray(data)
    if mac:
        data[0:6], data[6:12] = bytes.fromhex("02000000fe01"), bytes.fromhex("02000000fe02")
    if version == 6:
        data[at + 7] -= hops
    else:
        data[at + 8] -= hops
        repair_ip_checksum(data, at)
    return bytes(data)


def repair_ip_checksum(data, at):
    size = (data[at] & 0xF) * 4
    data[at + 10:at + 12] = bytes(2)
    data[at + 10:at + 12] = struct.pack("!H", internet_checksum(bytes(data[at:at + size])))


# --- copies ---------------------------------------------------------------------------------------------------------

def both_ends(frames, way_us=100, offset_us=0, routed_hops=0):
    """Two captures in one file: at `a`, whose times the traffic has, and at `b`, `way_us` away with a clock that is
    `offset_us` ahead."""
    shifts = {"a": way_us, "b": -way_us}
    there = []
    for frame in frames:
        shift = shifts["a" if is_from(frame, "a") else "b"] + offset_us
        data = routed(frame.data, routed_hops) if routed_hops else frame.data
        there.append(dataclasses.replace(frame, time_ns=frame.time_ns + int(shift * US), data=data))
    return by_time([*frames, *there])


def doubled(frames, after_ns=400, routed_hops=0, mac=False, side=None, every=1, times=2):
    """Each frame of one side or of both appears again `after_ns` later, as the same bytes or as after a router."""
    out = []
    for number, frame in enumerate(frames):
        out.append(frame)
        if (side is None or is_from(frame, side)) and number % every == 0:
            for copy in range(1, times):
                data = routed(frame.data, routed_hops, mac) if routed_hops else frame.data
                out.append(dataclasses.replace(frame, time_ns=frame.time_ns + copy * after_ns, data=data))
    return by_time(out)


def sampled(frames, one_in=64, how="random", seed=7, side=None):
    """One frame in n of both directions: each with the same chance, or each nth."""
    generator = random.Random(seed)
    kept = []
    for number, frame in enumerate(frames):
        if side is not None and not is_from(frame, side):
            kept.append(frame)
        elif how == "random" and generator.randrange(one_in) == 0:
            kept.append(frame)
        elif how == "every" and number % one_in == one_in // 2:
            kept.append(frame)
    return kept


def midway(frames, from_us=0):
    """The capture begins later than the traffic."""
    return [frame for frame in frames if frame.time_ns >= from_us * US]


def lost(frames, places, side="a"):
    """The frames of one side at these places among its own, from 0, have not come to the capture."""
    own = [frame for frame in frames if is_from(frame, side)]
    gone = {id(own[place]) for place in places}
    return [frame for frame in frames if id(frame) not in gone]


# --- headers --------------------------------------------------------------------------------------------------------

def rewritten(frames, keep_transport_checksum=False):
    """Other addresses, as anonymisers give: IPv4's first three bytes, IPv6's first four; the checksums of IP, UDP and TCP
    are put right, the ICRC stays as it is."""
    return [with_data(frame, rewritten_data(frame.data), frame.length) for frame in frames]


def rewritten_data(data):
    place = ip_at(data)
    if place is None:
        return data
    at, version = place
    data = bytearray(data)
    before = bytes(data[at + 8:at + 40]) if version == 6 else bytes(data[at + 12:at + 20])
    for address in ((at + 8, at + 24) if version == 6 else (at + 12, at + 16)):
        data[address:address + 3] = bytes([0x20, 0x01, 0x0D]) if version == 6 else bytes([198, 51, 100])
        if version == 6:
            data[address + 3:address + 8] = bytes.fromhex("b8aaaa0001")
    if version == 4:
        repair_ip_checksum(data, at)
    after = bytes(data[at + 8:at + 40]) if version == 6 else bytes(data[at + 12:at + 20])
    repair_transport_checksum(data, at, version, before, after)
    return bytes(data)


def repair_transport_checksum(data, at, version, before, after):
    """RFC 1624: the checksum follows from the old one, so that a frame that was cut is served as well."""
    protocol = data[at + 6] if version == 6 else data[at + 9]
    head = at + (40 if version == 6 else (data[at] & 0xF) * 4)
    place = head + {17: 6, 6: 16}.get(protocol, 0)
    if protocol not in (17, 6) or place + 2 > len(data):
        return
    old = int.from_bytes(data[place:place + 2], "big")
    if protocol == 17 and old == 0:
        return
    words = lambda text: sum(struct.unpack(f"!{len(text) // 2}H", text))
    total = (~old & 0xFFFF) + words(after) + sum(~word & 0xFFFF for word in struct.unpack(f"!{len(before) // 2}H", before))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    data[place:place + 2] = struct.pack("!H", ~total & 0xFFFF)


def zero_icrc(frames, side=None, every=1):
    """ICRC 0, as before an adapter fills it in, or where nothing computes it."""
    out, number = [], 0
    for frame in frames:
        if side is None or is_from(frame, side):
            number += 1
            if number % every == 0:
                frame = with_data(frame, frame.data[:-4] + bytes(4), frame.length)
        out.append(frame)
    return out


def snapped(frames, size=64, side=None):
    """tcpdump -s: the capture holds the first bytes and the true length, of all frames or of one side's."""
    return [dataclasses.replace(frame, data=frame.data[:size]) if side is None or is_from(frame, side) else frame for frame in frames]


def cut(frames, size=128, share=1, seed=3, least=0):
    """A mirror that truncates: the frame is short by itself. With a share below 1 only so many, each at a size of its own
    from `least` on."""
    generator, out = random.Random(seed), []
    for frame in frames:
        if share == 1:
            out.append(with_data(frame, frame.data[:size]))
        elif generator.random() < share:
            out.append(with_data(frame, frame.data[:generator.randrange(least or size, len(frame.data))]))
        else:
            out.append(frame)
    return out


def marked(frames, every=4, side="a", tos=3):
    """Congestion Experienced in the IP header of each nth packet of a side."""
    out, number = [], 0
    for frame in frames:
        if is_from(frame, side):
            number += 1
            if number % every == 0:
                data, (at, version) = bytearray(frame.data), ip_at(frame.data)
                if version == 6:
                    data[at + 1] |= tos << 4
                else:
                    data[at + 1] |= tos
                    repair_ip_checksum(data, at)
                frame = with_data(frame, bytes(data))
        out.append(frame)
    return out


# --- tunnels and carriers ---------------------------------------------------------------------------------------------

OUTER_A, OUTER_B = bytes([203, 0, 113, 1]), bytes([203, 0, 113, 2])


def tunnelled(frames, kind="vxlan", mark_every=0, side="a", marks=None):
    """Inside a tunnel between two switches; each nth frame of a side has CE in its outer header, and nothing inside."""
    out, number = [], 0
    for frame in frames:
        mark = False
        if is_from(frame, side):
            number += 1
            mark = mark_every > 0 and number % mark_every == 0
        out.append(with_data(frame, tunnel(frame.data, kind, 3 if mark else 2), None))
    return out


def tunnel(data, kind, tos):
    inner_type = int.from_bytes(data[12:14], "big")
    between = {
        "vxlan": lambda: (17, udp(4789, struct.pack("!II", 0x08000000, 42 << 8) + data)),
        "geneve": lambda: (17, udp(6081, struct.pack("!BBHI", 0, 0, 0x6558, 42 << 8) + data)),
        "gre": lambda: (47, struct.pack("!HH", 0, inner_type) + data[ETHERNET_SIZE:]),
        "ipip": lambda: (4 if inner_type == 0x0800 else 41, data[ETHERNET_SIZE:]),
        "erspan": lambda: (47, struct.pack("!HHI", 0x1000, 0x88BE, 1) + struct.pack("!HHI", 0x1001, 0x0001, 0) + data),
    }[kind]
    protocol, payload = between()
    return ethernet(0x0800, ipv4(protocol, payload, OUTER_A, OUTER_B, tos), bytes.fromhex("02000000aa01"), bytes.fromhex("02000000aa02"))


def carried(frames, kind):
    """After a header that stands between Ethernet and what it carries."""
    return [with_data(frame, carrier(frame.data, kind), None) for frame in frames]


def carrier(data, kind):
    addresses, ether_type, payload = data[:12], data[12:14], data[14:]
    bare = ether_type + payload
    if kind == "vntag":  # 802.1Qbh: direction, pointer, looped, version, two interfaces
        return addresses + bytes.fromhex("89260001" "0002") + bare
    if kind == "etag":  # 802.1BR: 6 bytes of tag, then the type
        return addresses + bytes.fromhex("893f" "0000" "1001" "0000") + bare
    if kind == "cisco_metadata":  # version, length, option, security group tag, then the type
        return addresses + bytes.fromhex("8909" "0101" "0001" "0064") + bare
    if kind == "macsec":  # 802.1AE, integrity only: TCI with E and C clear, packet number, ICV of 16 bytes at the end
        return addresses + bytes.fromhex("88e5" "0000" "00000001") + bare + bytes(16)
    if kind == "nsh":  # RFC 8300: length 2 words, MD type 2, next protocol 1 (IPv4) or 2 (IPv6)
        following = 1 if ether_type == b"\x08\x00" else 2
        return addresses + bytes.fromhex("894f") + struct.pack("!HBBI", 63 << 6 | 2, 2, following, 7 << 8 | 255) + payload
    if kind == "pppoe":  # RFC 2516: session stage, PPP's protocol
        protocol = 0x0021 if ether_type == b"\x08\x00" else 0x0057
        return addresses + bytes.fromhex("8864" "11000001") + struct.pack("!HH", len(payload) + 2, protocol) + payload
    if kind == "local_experiment":  # no one's to know: IEEE 802 local experimental type
        return addresses + bytes.fromhex("88b5") + bare
    raise ValueError(kind)


def nflog(frames):
    """Link type 239: family, version, resource, then TLVs; the payload's has type 9."""
    out = []
    for frame in frames:
        family = 2 if frame.data[12:14] == b"\x08\x00" else 10
        packet = frame.data[14:]
        head = struct.pack("<BBH", family, 0, 0) + struct.pack("<HH4s", 8, 1, bytes([8, 0, 3, 0])) + struct.pack("<HH", 4 + len(packet), 9)
        out.append(with_data(frame, head + packet))
    return out


def linux_cooked(frames):
    """LINUX_SLL version 1, as `any` gives."""
    return [with_data(frame, struct.pack("!HHH", 0, 1, 6) + source_mac(frame) + bytes(2) + frame.data[12:], frame.length + 2)
            for frame in frames]


# --- frames of others -----------------------------------------------------------------------------------------------

def pauses(frames, mac="02:00:00:00:00:02", count=150, every_us=300, quanta=65535, priority=3, after_us=300, kind="pfc"):
    """PAUSE or priority flow control frames of one sender, the first `after_us` after the last frame."""
    start, out = frames[-1].time_ns + after_us * US, list(frames)
    for number in range(count):
        if kind == "pfc":
            times = [quanta if place == priority else 0 for place in range(8)]
            body = struct.pack("!HH8H", 0x0101, 1 << priority, *times)
        else:
            body = struct.pack("!HH", 0x0001, quanta)
        data = bytes.fromhex("0180c2000001") + bytes.fromhex(mac.replace(":", "")) + b"\x88\x08" + body
        out.append(Frame(start + int(number * every_us * US), data + bytes(60 - len(data))))
    return out


def icmp_errors(frames, kind=3, code=3, sender=2, after_us=90, mtu=0, side="a", quoted=None):
    """An ICMP error for each frame of a side, 90 us later, that quotes what Linux quotes: all of it up to 576 bytes."""
    out = []
    for frame in frames:
        out.append(frame)
        if not is_from(frame, side):
            continue
        at, version = ip_at(frame.data)
        quote = frame.data[at:][:quoted or (548 if version == 4 else 1232)]
        host, target = Host(sender, version == 6, 500 + len(out)), Host(1, version == 6)
        if version == 4:
            message = struct.pack("!BBHHH", kind, code, 0, 0, mtu) + quote
            message = message[:2] + struct.pack("!H", internet_checksum(message)) + message[4:]
        else:
            message = struct.pack("!BBHI", kind, code, 0, mtu) + quote
            pseudo = host.address + target.address + struct.pack("!II", len(message), 58)
            message = message[:2] + struct.pack("!H", internet_checksum(pseudo + message)) + message[4:]
        out.append(Frame(frame.time_ns + after_us * US, ip_frame(host, target, 58 if version == 6 else 1, message, tos=0xC0)))
    return by_time(out)


def shifted(frames, by_ns=0, at_ns=None):
    """Other times: all by the same."""
    offset = by_ns if at_ns is None else at_ns - frames[0].time_ns
    return [dataclasses.replace(frame, time_ns=frame.time_ns + offset) for frame in frames]


def first_at(frames, time_ns):
    """A time of its own for the first frame alone, as before a clock is set."""
    return [dataclasses.replace(frames[0], time_ns=time_ns), *frames[1:]]


def stretched(frames, by=1000):
    return [dataclasses.replace(frame, time_ns=int(frame.time_ns * by)) for frame in frames]


def only_from(frames, side="a"):
    """A capture of one direction."""
    return [frame for frame in frames if is_from(frame, side)]
