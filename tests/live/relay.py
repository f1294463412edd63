"""A relay in the path: joins two interfaces of its network namespace frame by frame, and on the way delays, drops or damages
TCP segments or RoCEv2 packets, always the same ones. Prints `ready`, and at SIGTERM one JSON object with what it did.

    relay.py NEAR FAR [--delay MS] [--drop-every N] [--damage-every N] [--after N] [--direction forward|back|both]
             [--of tcp|roce]

Forward is from NEAR to FAR. Every Nth segment with payload is meant (of RoCEv2: every Nth packet), counted in each direction after
the first `--after` of them. A damaged segment gets one bit of its payload's last octets changed and a TCP checksum that agrees: only a checksum above
TCP can tell.
"""
import argparse
import collections
import json
import selectors
import signal
import socket
import struct
import sys
import time

ETH_P_ALL = 3
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC, PACKET_OUTGOING = 263, 1, 1, 4


def open_interface(name):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    for option in (33, socket.SO_RCVBUF):  # SO_RCVBUFFORCE where it is permitted
        try:
            link.setsockopt(socket.SOL_SOCKET, option, 32 << 20)
            break
        except PermissionError:
            pass
    link.bind((name, ETH_P_ALL))
    link.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack("iHH8x", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0))
    link.setblocking(False)
    return link


def payload_of(frame):
    """Where the TCP payload of an IPv4 frame begins and ends, and its sequence number; None where there is none."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return None
    tcp = 14 + (frame[14] & 15) * 4
    end = 14 + struct.unpack_from("!H", frame, 16)[0]
    begin = tcp + (frame[tcp + 12] >> 4) * 4
    return (begin, end, struct.unpack_from("!I", frame, tcp + 4)[0]) if begin < end <= len(frame) else None


def packet_of(frame):
    """Where the transport headers and payload of a RoCEv2 packet over IPv4 begin and end, and its PSN; None where there is none."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 17:
        return None
    udp = 14 + (frame[14] & 15) * 4
    if struct.unpack_from("!H", frame, udp + 2)[0] != 4791:
        return None
    return udp + 8, 14 + struct.unpack_from("!H", frame, 16)[0], int.from_bytes(frame[udp + 17:udp + 20], "big")


def damage(frame, begin, end):
    """The frame with a bit of the octet before the payload's last changed, and the checksum's complement with it (RFC 1624)."""
    frame = bytearray(frame)
    tcp = 14 + (frame[14] & 15) * 4
    place = max(end - 2, begin)
    word = place - (place - tcp) % 2  # checksums are of 16-bit words from the header's start
    before = struct.unpack_from("!H", frame, word)[0] if word + 2 <= end else frame[word] << 8
    frame[place] ^= 0x10
    after = struct.unpack_from("!H", frame, word)[0] if word + 2 <= end else frame[word] << 8
    checksum = struct.unpack_from("!H", frame, tcp + 16)[0]
    total = (~checksum & 0xffff) + (~before & 0xffff) + after
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    struct.pack_into("!H", frame, tcp + 16, ~total & 0xffff)
    return bytes(frame)


class Direction:
    def __init__(self, source, target, options, impaired):
        self.source, self.target, self.options, self.impaired = source, target, options, impaired
        self.waiting = collections.deque()
        self.segments = 0
        self.counts = {"frames": 0, "octets": 0, "segments": 0, "lost_in_relay": 0, "dropped": [], "damaged": []}

    def chosen(self, every):
        number = self.segments - self.options.after
        return self.impaired and every and number > 0 and number % every == 0

    def take(self, now):
        """What is there, bounded so that both directions get on."""
        for _ in range(64):
            try:
                frame, address = self.source.recvfrom(65600)
            except BlockingIOError:
                return
            if address[2] == PACKET_OUTGOING:
                continue
            self.counts["frames"] += 1
            self.counts["octets"] += len(frame)
            payload = packet_of(frame) if self.options.of == "roce" else payload_of(frame)
            if payload:
                begin, end, sequence = payload
                self.segments += 1
                self.counts["segments"] += 1
                if self.chosen(self.options.drop_every):
                    self.counts["dropped"].append({"sequence": sequence, "octets": end - begin})
                    continue
                if self.chosen(self.options.damage_every):
                    self.counts["damaged"].append({"sequence": sequence, "octets": end - begin})
                    frame = damage(frame, begin, end)
            self.waiting.append((now + self.options.delay / 1e3, frame))

    def give(self, now):
        while self.waiting and self.waiting[0][0] <= now:
            try:
                self.target.send(self.waiting[0][1])
            except BlockingIOError:
                return
            except OSError:
                self.counts["lost_in_relay"] += 1
            self.waiting.popleft()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("near")
    parser.add_argument("far")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--drop-every", type=int, default=0)
    parser.add_argument("--damage-every", type=int, default=0)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--direction", choices=("forward", "back", "both"), default="both")
    parser.add_argument("--of", choices=("tcp", "roce"), default="tcp")
    options = parser.parse_args()
    if options.of == "roce" and options.damage_every:
        parser.error("only TCP segments can be damaged")
    near, far = open_interface(options.near), open_interface(options.far)
    directions = {"forward": Direction(near, far, options, options.direction != "back"),
                  "back": Direction(far, near, options, options.direction != "forward")}
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    selector = selectors.DefaultSelector()
    for direction in directions.values():
        selector.register(direction.source, selectors.EVENT_READ, direction)
    print("ready", flush=True)
    while not stopped:
        due = [direction.waiting[0][0] for direction in directions.values() if direction.waiting]
        wait = max(0, min(due) - time.monotonic()) if due else 0.05
        for key, _ in selector.select(wait):
            key.data.take(time.monotonic())
        for direction in directions.values():
            direction.give(time.monotonic())
    json.dump({name: direction.counts for name, direction in directions.items()}, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
