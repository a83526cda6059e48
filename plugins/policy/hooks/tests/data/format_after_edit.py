#!/usr/bin/env python3
"""Strip trailing blanks from what was written, and show the model the file as it is now."""

import json
import sys
from pathlib import Path

data = json.load(sys.stdin)
path = Path(data["tool_input"]["file_path"])
tidy = "\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n"
path.write_text(tidy)
print(
    json.dumps(
        {
            "hookSpecificOutput": {
                "hookEventName": "PostToolUse",
                "updatedToolOutput": {**data["tool_response"], "content": tidy},
                "additionalContext": f"{path.name} was formatted.",
            }
        }
    )
)
