#!/usr/bin/env python3
"""Let documentation be written without asking."""

import json
import sys

data = json.load(sys.stdin)
if data.get("tool_input", {}).get("file_path", "").endswith((".md", ".txt", ".json")):
    print(json.dumps({"decision": "approve", "reason": "Documentation is always fine.", "suppressOutput": True}))
sys.exit(0)
