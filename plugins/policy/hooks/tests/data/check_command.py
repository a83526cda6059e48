#!/usr/bin/env python3
"""Send the model to better tools."""

import json
import re
import sys

ADVICE = [
    (r"^grep\b(?!.*\|)", "Use rg instead of grep."),
    (r"^find\s+\S+\s+-name\b", "Use rg --files instead of find -name."),
]

try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as error:
    print(f"Not JSON: {error}", file=sys.stderr)
    sys.exit(1)

command = data.get("tool_input", {}).get("command", "")
if data.get("tool_name") != "Bash" or not command:
    sys.exit(1)
found = [message for pattern, message in ADVICE if re.search(pattern, command)]
if found:
    print("\n".join(f"- {message}" for message in found), file=sys.stderr)
    sys.exit(2)
