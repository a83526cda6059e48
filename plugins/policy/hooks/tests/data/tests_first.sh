#!/bin/sh
# Do not let the agent stop while the marker of a failed run is there.
input=$(cat)
[ "$(printf '%s' "$input" | jq -r .stop_hook_active)" = true ] && exit 0
if [ -e "$CLAUDE_PROJECT_DIR/tests-failed" ]; then
  printf '{"decision": "block", "reason": "The tests fail. Mend them before you stop."}'
fi
