"""`python -m pegboard_mcp_server`: the same as `pegboard mcp serve`, without the rest of the command line."""

import sys

from pegboard import PegboardError
from pegboard_mcp_server.serve import run


def main() -> int:
    """Serve until the client leaves or a signal arrives."""
    try:
        return run(sys.argv[1:])
    except PegboardError as error:
        sys.stderr.write(f"pegboard: {error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
