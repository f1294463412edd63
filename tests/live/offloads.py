"""Switches segmentation and checksum offload of an interface off: `offloads.py INTERFACE`. Frames are then on the link as they
would be on a cable."""
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
SWITCHES = {"rx checksums": 0x15, "tx checksums": 0x17, "scatter-gather": 0x19, "TSO": 0x1f, "GSO": 0x24, "GRO": 0x2c}


def main():
    name = sys.argv[1].encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        import ctypes
        for what, command in SWITCHES.items():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
            request = struct.pack("16sP", name, ctypes.addressof(value))
            try:
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)
            except OSError as error:
                print(f"{sys.argv[1]}: {what} cannot be switched off: {error.strerror}", file=sys.stderr)


if __name__ == "__main__":
    main()
