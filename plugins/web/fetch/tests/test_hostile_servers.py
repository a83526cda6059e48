"""Servers that mean harm, or are merely broken."""

from __future__ import annotations

import gzip
import ssl
import zlib

import brotli
import pytest
from backports import zstd
from webfetch_sites import PUBLIC, Site

from pegboard_webfetch import fetch as fetching

ZEROS = b"\0" * (fetching.MOST_DECODED * 3)
TEXT = "naïve text, twice. " * 500


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize(("encoding", "pack"), [*PACKERS.items(), ("deflate", raw_deflate), ("identity", bytes)])
async def test_every_encoding_is_unpacked(fetch, secure, encoding, pack):
    secure.pages["/"] = lambda visit: visit.answer(pack(TEXT.encode()), content_encoding=encoding)
    assert (await fetch("https://example.com/")).value.result == TEXT


@pytest.mark.parametrize(("encoding", "pack"), PACKERS.items())
async def test_a_bomb_is_defused_at_the_limit(fetch, secure, encoding, pack):
    secure.pages["/"] = lambda visit: visit.answer(pack(ZEROS), content_encoding=encoding)
    result = await fetch("https://example.com/")
    assert (result.code, "a decompression bomb" in result.text) == ("too_large", True)


@pytest.mark.parametrize("encoding", PACKERS)
async def test_a_damaged_body_is_an_error(fetch, secure, encoding):
    secure.pages["/"] = lambda visit: visit.answer(b"\x78\x9cnot packed at all" * 9, content_encoding=encoding)
    result = await fetch("https://example.com/")
    assert (result.code, "damaged" in result.text) == ("unsupported", True)


@pytest.mark.parametrize("encoding", ["gzip, br", "compress", "identity, gzip, gzip"])
async def test_stacked_and_unknown_encodings_are_refused(fetch, secure, encoding):
    secure.pages["/"] = lambda visit: visit.answer(b"x", content_encoding=encoding)
    assert (await fetch("https://example.com/")).code == "unsupported"


async def test_two_encoding_headers_count_as_stacked(fetch, secure):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"
    secure.pages["/"] = lambda visit: visit.send(head)
    assert "more than one content encoding" in (await fetch("https://example.com/")).text


async def test_a_long_body_is_cut_at_the_limit_and_marked(fetch, secure):
    body = b"0123456789" * (fetching.MOST_WIRE // 10 + 1000)
    secure.pages["/"] = lambda visit: visit.answer(body)
    result = await fetch("https://example.com/")
    assert result.value.truncated
    assert result.value.bytes == fetching.MOST_DECODED
    assert "only its beginning was read" in result.text
    assert not (await fetch("https://example.com/")).value.from_cache


async def test_a_body_without_an_end_is_cut_at_the_limit(fetch, secure):
    def pour(visit):
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not visit.site.closing.is_set():
            visit.send(b"more " * 20_000)

    secure.pages["/"] = pour
    assert (await fetch("https://example.com/")).value.truncated


async def test_a_body_shorter_than_promised_is_shown_and_marked(fetch, secure):
    secure.pages["/"] = lambda visit: visit.answer(b"half", content_length="8")
    result = await fetch("https://example.com/")
    assert (result.value.result, result.value.truncated) == ("half", True)
    assert "The connection was lost before the end" in result.text


async def test_a_body_longer_than_promised_ends_where_it_was_promised(fetch, secure):
    secure.pages["/"] = lambda visit: visit.answer(b"half and more", content_length="4")
    assert (await fetch("https://example.com/")).value.result == "half"


async def test_two_different_lengths_are_refused(fetch, secure):
    secure.pages["/"] = lambda visit: visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx")
    assert "did not answer with valid HTTP" in (await fetch("https://example.com/")).text


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300 + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
    ids=["many-headers", "long-header", "not-http", "nothing"],
)
async def test_an_answer_that_is_not_proper_http_is_an_error(fetch, secure, head):
    secure.pages["/"] = lambda visit: visit.send(head)
    result = await fetch("https://example.com/")
    assert result.is_error
    assert "example.com" in result.text


async def test_a_server_that_never_answers_ends_at_the_deadline(fetch, secure):
    secure.pages["/"] = lambda visit: visit.site.closing.wait(60)
    result = await fetch("https://example.com/", timeout=1)
    assert (result.code, result.text) == (
        "timeout",
        "example.com did not answer within 1 s. Set a longer timeout, or continue without it.",
    )


async def test_hints_without_end_end_at_the_deadline(fetch, secure):
    def hint(visit):
        while not visit.site.closing.wait(0.01):
            visit.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")

    secure.pages["/"] = hint
    assert (await fetch("https://example.com/", timeout=1)).code == "timeout"


async def test_a_certificate_must_be_for_the_host_that_was_asked_for(fetch, secure):
    secure.pages["/"] = b"x"
    result = await fetch("https://not-in-the-certificate.com/")
    assert (result.is_error, "certificate" in result.text.lower()) == (True, True)


async def test_a_certificate_of_a_stranger_is_refused(fetch, secure, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    secure.pages["/"] = b"x"
    result = await fetch("https://example.com/")
    assert result.is_error
    assert "The certificate of example.com is not valid: unable to get local issuer certificate." in result.text


async def test_the_server_is_told_the_name_and_not_the_address(make_board, fetch, web, authority, trusted):
    named = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("example.com").configure_cert(context)
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    site = Site(context)
    try:
        site.pages["/"] = b"x"
        web.ports[443] = site.port
        await fetch("https://example.com/")
    finally:
        site.close()
    assert (named, site.visits[0].headers["host"]) == (["example.com"], "example.com")


async def test_the_next_address_is_tried_when_one_is_dead(fetch, secure, web):
    secure.pages["/"] = b"x"
    web.answers["example.com"] = [["2606:4700::dead", PUBLIC]]
    web.dead.add("2606:4700::dead")
    assert not (await fetch("https://example.com/")).is_error
    assert web.dialled == [("2606:4700::dead", 443), (PUBLIC, 443)]
