#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody on the network who is no node.

    stranger.py attack HOST PORT [RECORDING]    until it is killed
    stranger.py record PORT RECORDING           what others send to a port here

It connects again and again, and says what UCX's connections begin with, noise, the
beginning of a node's hello, a recorded connection, or nothing. It prints how often it
has done which, and "answered" if it has ever got a byte back.
"""
import collections
import itertools
import json
import os
import random
import socket
import struct
import sys
import time

UCX_MAGIC = struct.pack("<Q", 0xCAFEBABE12345678)
HELLO_MARK = b"TMH1"
ETH_P_IP = 0x0800
TCP = 6


def sayings(recordings):
    """Endless: name, bytes, whether it then closes its end."""
    noise = random.Random(1)
    for turn in itertools.count():
        size = noise.randrange(1, 3000)
        yield "ucx", UCX_MAGIC + noise.randbytes(size), False
        yield "noise", noise.randbytes(size), False
        yield "hello", HELLO_MARK + noise.randbytes(72), False
        yield "cut", (HELLO_MARK + noise.randbytes(72))[:turn % 76], True
        yield "nothing", b"", False
        if recordings:
            record = recordings[turn % len(recordings)]
            yield "replay", record, False
            yield "replay", record[:noise.randrange(1, len(record))], True


def say(place, saying, closes, held):
    """@return 1 if something came back"""
    connection = socket.create_connection(place, timeout=0.5)
    connection.settimeout(0.02)
    try:
        connection.sendall(saying)
        if closes:
            connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(1)
    except OSError:  # reset, or nothing has come in time
        answer = b""
    held.append(connection)  # some stay open
    while len(held) > 20:
        held.popleft().close()
    return bool(answer)


def attack(host, port, recordings):
    counts = collections.Counter()
    held = collections.deque()
    said = sayings(recordings)
    while True:
        name, saying, closes = next(said)
        try:
            answered = say((host, port), saying, closes, held)
        except OSError:  # nobody listens
            time.sleep(0.005)
            continue
        counts[name] += 1
        counts["answered"] += answered
        print(json.dumps(counts), flush=True)


def record(port, file):
    """The bytes of each connection, as they come by the card."""
    card = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                         socket.htons(ETH_P_IP))
    connections = {}
    print("records", flush=True)
    while True:
        packet = card.recv(65536)
        header = 4 * (packet[0] & 15)
        total, = struct.unpack_from(">H", packet, 2)
        if packet[9] != TCP:
            continue
        from_port, to_port = struct.unpack_from(">HH", packet, header)
        data = packet[header + 4 * (packet[header + 12] >> 4):total]
        if to_port == port and data:
            whole = connections.setdefault(from_port, bytearray())
            if len(whole) < 4000:
                whole += data
                with open(file + ".new", "w", encoding="ascii") as new:
                    json.dump([text.hex() for text in connections.values()],
                              new)
                os.replace(file + ".new", file)


def main():
    what, *words = sys.argv[1:]
    if what == "record":
        record(int(words[0]), words[1])
    recordings = []
    if len(words) > 2:
        with open(words[2], encoding="ascii") as file:
            recordings = [bytes.fromhex(text) for text in json.load(file)]
    attack(words[0], int(words[1]), recordings)


if __name__ == "__main__":
    main()
