#!/usr/bin/env python3
"""Keep passwords out of prompts, and tell the time."""

import json
import re
import sys

data = json.load(sys.stdin)
if re.search(r"(?i)\b(password|secret|key|token)\s*[:=]", data.get("prompt", "")):
    print(json.dumps({"decision": "block", "reason": "The prompt seems to hold a secret. Say it without."}))
    sys.exit(0)
print("The working day ends at five.")
