"""The WebFetch tool."""

from pegboard_webfetch.webfetch import WebFetch, WebFetchInput, WebFetchOutput, register_tools

__all__ = ["WebFetch", "WebFetchInput", "WebFetchOutput", "register_tools"]
