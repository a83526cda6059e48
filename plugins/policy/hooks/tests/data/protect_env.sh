#!/usr/bin/env bash
# Keep the agent away from environment files.
file=$(jq -r '.tool_input.file_path // empty')
case "$(basename "$file")" in
  .env | .env.*)
    echo "$(basename "$file") holds secrets and is edited by hand." >&2
    exit 2
    ;;
esac
exit 0
