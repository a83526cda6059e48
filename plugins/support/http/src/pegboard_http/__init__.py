"""What providers of models and tools of the web share: an HTTP client, events, failures, and marks for untrusted text.

Importing this costs nothing: the HTTP library is loaded when the first client is opened.
"""

from pegboard_http.answers import drain, read_events, refusal_body
from pegboard_http.bodies import json_bytes
from pegboard_http.clients import join_url, open_client
from pegboard_http.failures import connection_failure, http_errors, sentence, wait_asked
from pegboard_http.sse import EventDecoder
from pegboard_http.untrusted import MARK, without_invisible, without_marks

__all__ = [
    "MARK",
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
    "without_invisible",
    "without_marks",
]
