#!/usr/bin/env python3
"""Writes a capture of many RoCEv2 flows, each of one packet: what hostile input costs most memory with.

one_packet_flows.py FILE FLOWS [good|bad|zero] [HOSTS]: the state of the ICRCs (default good), and the number of
destination addresses (default 1). `jump`: one queue pair instead, whose PSN jumps by 2^23 - 1 with every packet.
"""
import struct
import sys
import zlib

ETHERNET = bytes.fromhex("020000000002" "020000000001" "0800")
SEND_ONLY = 0x04
PORT = 4791
PAYLOAD = bytes(8)


def ip_header(host, length):
    """The checksum is right: it is the complement of the sum of the words."""
    destination = bytes([10, 1 + (host >> 16), host >> 8 & 0xFF, host & 0xFF])
    header = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0x4000, 64, 17, 0) + bytes([10, 0, 0, 1]) + destination
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack(">H", total ^ 0xFFFF) + header[12:]


def icrc(ip, udp, bth):
    """IBTA vol. 1, annex A17: fields that routers change count as ones."""
    masked_ip = ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
    masked = b"\xff" * 8 + masked_ip + udp[:6] + b"\xff\xff" + bth[:4] + b"\xff" + bth[5:] + PAYLOAD
    return struct.pack("<I", zlib.crc32(masked))


def packet(host, queue_pair, psn, crc):
    udp_length = 8 + 12 + len(PAYLOAD) + 4
    udp = struct.pack(">HHHH", 49152, PORT, udp_length, 0)
    ip = ip_header(host, 20 + udp_length)
    bth = struct.pack(">BBHII", SEND_ONLY, 0x40, 0xFFFF, queue_pair, 0x80000000 | psn)
    if crc == "good":
        end = icrc(ip, udp, bth)
    else:
        end = bytes(4) if crc == "zero" else b"\x01\x02\x03\x04"
    return ETHERNET + ip + udp + bth + PAYLOAD + end


def write(path, flows, crc="good", hosts=1):
    jumps = crc == "jump"
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i in range(flows):
            if jumps:
                frame = packet(0, 0x11, i * 0x7FFFFF & 0xFFFFFF, "bad")
            else:
                frame = packet(i % hosts, 0x11 + i // hosts, 0, crc)
            file.write(struct.pack("<IIII", 1700000000 + i // 1000000, i % 1000000, len(frame), len(frame)) + frame)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), *sys.argv[3:4], *(int(hosts) for hosts in sys.argv[4:5]))
