"""What providers of models share: an HTTP client, server-sent events, and what goes wrong with both.

Importing this costs nothing: the HTTP library is loaded when the first client is opened.
"""

from pegboard_http.answers import drain, read_events, refusal_body
from pegboard_http.bodies import json_bytes
from pegboard_http.clients import join_url, open_client
from pegboard_http.failures import connection_failure, http_errors, sentence, wait_asked
from pegboard_http.sse import EventDecoder

__all__ = [
    "EventDecoder",
    "connection_failure",
    "drain",
    "http_errors",
    "join_url",
    "json_bytes",
    "open_client",
    "read_events",
    "refusal_body",
    "sentence",
    "wait_asked",
]
