"""Every name that spans use, in one place: the GenAI conventions are still in development and may rename theirs."""

AGENT_SPAN, REQUEST_SPAN, CALL_SPAN, DECISION_SPAN = "invoke_agent", "chat", "execute_tool", "permission"
"""The first word of the name of each span; for the first three also its `gen_ai.operation.name`."""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT_ID, AGENT_NAME = "gen_ai.agent.id", "gen_ai.agent.name"
MODEL, MAX_TOKENS = "gen_ai.request.model", "gen_ai.request.max_tokens"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
CACHE_READ, CACHE_CREATION = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"
TOOL, TOOL_TYPE, CALL_ID = "gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id"
ERROR = "error.type"

ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
INPUT_MESSAGES, OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
"""Contents: set only where the setting telemetry.content says so."""

DECISION, LAYER, RULE, SOURCE = (
    *("pegboard.decision", "pegboard.decision.layer", "pegboard.decision.rule"),
    "pegboard.decision.source",
)
ASKED, REASON = "pegboard.decision.asked", "pegboard.decision.reason"
ATTEMPT, INTERRUPTED, STOPPED_BY = "pegboard.request.attempt", "pegboard.request.interrupted", "pegboard.stopped_by"
REQUESTS, COST = "pegboard.usage.requests", "pegboard.usage.cost"
PROMPT_ANSWERED, PROMPT_FAILED = "pegboard.prompt_answered", "pegboard.prompt_failed"
