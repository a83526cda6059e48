"""Inside the sandbox: offer the proxy's socket at a loopback port, and run the command next to it.

Run as a file, with nothing but the standard library: `python -I -S bridge.py SOCKET COMMAND…`.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

NAMES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def main() -> None:
    """Start the command, then carry its traffic until it ends."""
    path, *command = sys.argv[1:]
    door = socket.create_server(("127.0.0.1", 0), backlog=64)
    env = os.environ | dict.fromkeys(NAMES, f"http://127.0.0.1:{door.getsockname()[1]}")
    env |= dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
    child = os.fork()
    if child == 0:
        try:
            os.execvpe(command[0], command, env)  # noqa: S606 - the command brings its own shell
        except OSError as error:
            sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}.\n")
            os._exit(127)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    threading.Thread(target=_serve, args=(door, path), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def _serve(door: socket.socket, path: str) -> None:
    while True:
        client, _ = door.accept()
        threading.Thread(target=_attend, args=(client, path), daemon=True).start()


def _attend(client: socket.socket, path: str) -> None:
    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as proxy:
        try:
            proxy.connect(path)
        except OSError:
            return
        back = threading.Thread(target=_carry, args=(proxy, client), daemon=True)
        back.start()
        _carry(client, proxy)
        back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    main()
