#!/usr/bin/env python3
"""Turn every deployment into a rehearsal."""

import json
import sys

data = json.load(sys.stdin)
command = data["tool_input"]["command"]
if command.startswith("deploy") and "--dry-run" not in command:
    answer = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "Made a rehearsal of it.",
        "updatedInput": {**data["tool_input"], "command": f"echo {command} --dry-run"},
    }
    print(json.dumps({"hookSpecificOutput": answer}))
