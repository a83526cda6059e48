#!/usr/bin/env bash
# Write down every command with its description.
jq -r '"\(.tool_input.command) - \(.tool_input.description // "no description")"' >> "$CLAUDE_PROJECT_DIR/commands.log"
