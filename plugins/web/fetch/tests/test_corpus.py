"""Every URL of the corpus: what must be blocked is blocked before a byte is sent, what may be fetched is fetched."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from webfetch_sites import PUBLIC

from pegboard import Allow, Call
from pegboard_rules.opinions import decide_by_rules
from pegboard_webfetch import WebFetchInput

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "data" / "urls.jsonl").read_text().splitlines()]


def name(row):
    return f"{row['class']}-{row['url'][:60]!a}"


def of(*classes):
    return [pytest.param(row, id=name(row)) for row in CORPUS if row["class"] in classes]


BY_SIGHT = ("loopback", "unspecified", "ip_encoding", "private", "metadata", "ipv6_special", "ipv6_embeds_v4", "scheme")
BY_SIGHT += ("credentials", "parser_confusion", "port")


def test_every_class_of_the_corpus_has_a_test():
    assert {row["class"] for row in CORPUS} == {*BY_SIGHT, "dns_rebind", "redirect", "domain_rule", "body", "public"}


@pytest.mark.parametrize("row", of(*BY_SIGHT))
async def test_what_is_wrong_by_sight_is_denied_without_asking_or_looking_up(row, fetch, web, answers):
    result = await fetch(row["url"])
    assert (row["verdict"], result.is_error, result.decision.word) == ("block", True, "deny")
    assert (web.looked_up, web.dialled, answers.asked) == ([], [], [])


@pytest.mark.parametrize("row", of("dns_rebind"))
async def test_a_name_never_leads_to_a_private_address(row, fetch, web, secure):
    secure.pages["/"] = b"public page"
    web.answers = {host: [answer] for host, answer in row.get("dns", {}).items()}
    web.answers |= {host: list(answers) for host, answers in row.get("dns_sequence", {}).items()}
    result = await fetch(row["url"])
    assert len(web.looked_up) == 1
    assert {address for address, _ in web.dialled} <= {PUBLIC}
    # A second answer of DNS is never asked for, so a name that changes its mind is simply the public page.
    assert result.is_error == ("dns_sequence" not in row)
    assert ("public page" in result.text) == ("dns_sequence" in row)


@pytest.mark.parametrize("row", of("redirect"))
async def test_redirects_stay_on_the_host_and_are_checked_at_each_hop(row, fetch, web, plain, secure):
    page = f'<meta http-equiv="refresh" content="0; url={row.get("meta_refresh")}"><p>Moved.</p>'.encode()
    hops = [row["url"], *row.get("redirects", [])]
    for number, url in enumerate(hops):
        path = "/" + url.partition("://")[2].partition("/")[2]
        last = number + 1 == len(hops)
        where = "" if last else hops[number + 1]
        site = secure if url.startswith("https") else plain
        site.pages[path] = page if last else lambda visit, where=where: visit.answer(b"", "302 Found", location=where)
    if row["url"].startswith("http:"):
        secure.pages["/"] = page
    result = await fetch(row["url"])
    assert {address for address, _ in web.dialled} == {PUBLIC}
    if row["verdict"] == "allow":
        assert not result.is_error
        assert result.value.redirect_url is None
        assert "Moved." in result.text
    elif "meta_refresh" in row:
        assert len(secure.visits) == 1
        assert "this was not followed" in result.text
    else:
        assert result.is_error or result.value.redirect_url == row["redirects"][0]
        assert len(secure.visits) == 1


@pytest.mark.parametrize("row", of("domain_rule"))
def test_a_rule_allows_the_hosts_it_names_and_no_others(row, make_board, tool, settings_file):
    settings_file(row["rule"])
    ctx, args = make_board().context(), WebFetchInput(url=row["url"])
    said = tool.check_permission(args, ctx)
    decision = decide_by_rules(tool, tool.facts(args, ctx), ctx, args, [said] if said else [])
    assert isinstance(decision, Allow) == (row["verdict"] == "allow")


def play(visit, response):
    if "decoded_bytes" in response:
        visit.answer(gzip.compress(b"a" * response["decoded_bytes"]), content_encoding="gzip")
    elif "header_bytes" in response:
        visit.send(b"HTTP/1.1 200 OK\r\n")
        for number in range(response["header_bytes"] // 1000):
            visit.send(f"X-{number}: {'y' * 990}\r\n".encode())
    elif "bytes_per_second" in response:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3600\r\n\r\n")
        while not visit.site.closing.wait(0.05):
            visit.send(b"x")
    else:
        body = gzip.compress(gzip.compress(gzip.compress(b"deep")))
        visit.answer(body, content_encoding=response["encoding"])


@pytest.mark.parametrize("row", of("body"))
async def test_a_body_costs_no_more_than_the_limits(row, fetch, secure):
    path = "/" + row["url"].partition("://")[2].partition("/")[2]
    secure.pages[path] = lambda visit: play(visit, row["response"])
    result = await fetch(row["url"], timeout=1)
    if "bytes_per_second" in row["response"]:
        assert result.value.truncated
        assert "The server was too slow: this is what arrived within 1 s." in result.text
    else:
        assert result.is_error == (row["verdict"] == "block")


@pytest.mark.parametrize("row", of("public"))
async def test_the_guard_passes_what_is_public(row, make_board, secure, answers, fetch):
    board = make_board()
    answers.decision = None
    asked = await board.dispatch(Call("1", "WebFetch", {"url": row["url"]}), board.context())
    assert (asked.decision.layer, len(answers.asked)) == ("ask", 1)
    answers.decision = Allow("Approved.", layer="ask")
    result = await fetch(row["url"])
    assert not result.is_error
    assert result.value.code == 404
