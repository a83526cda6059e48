"""`python -m pegboard_cli`, for when the script is not on PATH."""

import sys

from pegboard_cli.main import main

sys.exit(main())
