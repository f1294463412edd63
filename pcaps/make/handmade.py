#!/usr/bin/env python3
"""Writes the captures made by hand, `made-*.pcap`, for what the lab cannot send. The same octets on every run.

Beside each a JSON: what it shows, and one note a frame that says what a correct dissection finds there.

usage: pcaps/make/handmade.py [--check]      --check writes nothing and fails where a file would change
"""
import json
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
import icmp_captures
import infiniband_captures
import iwarp_captures
import link_captures
import management_captures
import snapped_captures
import upper_captures
from octets import MpaSender, crc32c, icrc_of, masked_transport, untagged

FOLDER = pathlib.Path(__file__).resolve().parent.parent


def check_known_answers():
    """The checksums against the examples of the specifications, before anything is built with them."""
    ulpdu = lambda msn: untagged(3, 0, msn, bytes(24))
    sender = MpaSender(markers=True)
    assert sender.fpdu(ulpdu(1))[-4:].hex() == "52239983", "RFC 5044, figure 5"
    sender.position = 0x1EC
    figure = sender.fpdu(ulpdu(2))
    assert figure[20:24].hex() == "00000014" and figure[-4:].hex() == "84925898", "RFC 5044, figure 6"
    assert crc32c(bytes(32)).hex() == "aa36918a", "RFC 3720, appendix B.4"
    local, transport = infiniband_captures.IBA_EXAMPLE
    assert icrc_of(bytes([local[0] | 0xF0]) + local[1:] + masked_transport(transport)).hex() == "9625b75a", "IBA 7.8.3"


def pcap(capture):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, capture.link)
    for number, (octets, wire_length, _) in enumerate(capture.frames):
        out += struct.pack("<IIII", 1700000000, number * 10, len(octets), wire_length or len(octets)) + octets
    return out


def truth(capture):
    return json.dumps({"name": capture.name, "scenario": capture.about, "origin": "made by hand", "driver": "none",
                       "frames": len(capture.frames), "notes": [note for _, _, note in capture.frames]}, indent=1) + "\n"


def main():
    check_known_answers()
    for module in (icmp_captures, infiniband_captures, iwarp_captures, link_captures, management_captures, snapped_captures, upper_captures):
        for capture in module.captures():
            for suffix, content in ((".pcap", pcap(capture)), (".json", truth(capture).encode())):
                path = FOLDER / (capture.name + suffix)
                if path.exists() and path.read_bytes() == content:
                    continue
                if "--check" in sys.argv:
                    sys.exit(f"{path.name} is not what handmade.py makes: run it, or put the file back")
                path.write_bytes(content)
                print(path.name, file=sys.stderr)


if __name__ == "__main__":
    main()
