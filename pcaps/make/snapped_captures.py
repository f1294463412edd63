"""The first frames of two captures from the lab, cut as `tcpdump -s 96` would have cut them."""
import pathlib
import struct

from capture import Capture

FOLDER = pathlib.Path(__file__).resolve().parent.parent


def snapped(name, source, count):
    capture = Capture(name, f"the first {count} frames of {source}, cut to 96 octets: headers alone, the usual way to record RDMA")
    data, at = (FOLDER / f"{source}.pcap").read_bytes(), 24
    for number in range(count):
        captured, = struct.unpack_from("<I", data, at + 8)
        octets = data[at + 16:at + 16 + captured]
        capture.add(octets, f"frame {number + 1} of {source}", snap=96 if captured > 96 else None)
        at += 16 + captured
    return capture


def captures():
    return [snapped("snap96-roce", "rxe-rping", 60), snapped("snap96-iwarp", "siw-rping-crc", 60)]
