"""Switch the loopback device on, in a network namespace that was just made and has nothing else.

python tests/loopback.py
"""

import fcntl
import socket
import struct

_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41

if __name__ == "__main__":
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP_AND_RUNNING))
