"""A RoCEv2 capture of very many queue pairs: SENDs of 64 bytes with their ACKs, a round after the other."""
import struct

ETHERNET = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
START_NS = 1_790_000_000 * 10**9


def frame(source, destination, bth, payload):
    length = 8 + len(bth) + len(payload) + 4
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0, source, destination)
    return ETHERNET + ip + struct.pack(">HHHH", 50_000, 4791, length, 0) + bth + payload + bytes(4)


def write(path, pairs, rounds, step_ns):
    """Two flows for each pair: one sends, the other acknowledges. `step_ns` is between two frames."""
    now, base = START_NS, 0x0A000000
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for psn in range(rounds):
            for i in range(pairs):
                one, other = base + 1 + i % 250, base + 0x10001 + i // 250 % 250
                send = frame(one, other, struct.pack(">BBHII", 0x04, 0x40, 0xFFFF, 0x40000 + i, 1 << 31 | psn), bytes(64))
                ack = frame(other, one, struct.pack(">BBHIII", 0x11, 0x40, 0xFFFF, 0x100 + i, psn, 0x1F << 24 | psn + 1), b"")
                for octets in (send, ack):
                    now += step_ns
                    file.write(struct.pack("<IIII", now // 10**9, now % 10**9, len(octets), len(octets)) + octets)
