"""The parser and the table of addresses, as pure functions."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_webfetch.addresses import kind_of
from pegboard_webfetch.urls import Refused, joined, normal_host, parse


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com.:443/a?b#c", "https://example.com/a?b"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:00080/", "http://example.com/"),
        ("https://example.com/ä b".replace(" ", "%20"), "https://example.com/%C3%A4%20b"),
        ('https://example.com/a"<b>', "https://example.com/a%22%3Cb%3E"),
        ("https://example.com?q=ä", "https://example.com/?q=%C3%A4"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://ex\u0430mple.com/", "https://xn--exmple-4nf.com/"),
        ("https://EXAMPLE。com/", "https://example.com/"),
        ("https://\uff45xample.com/", "https://example.com/"),
        ("https://[2606:4700:0::1111]:8443/", "https://[2606:4700::1111]:8443/"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
    ],
)
def test_a_url_has_one_spelling(text, meant):
    assert str(parse(text)) == meant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("example.com", "not a complete URL"),
        ("http:///x", "is not a host name"),
        ("https://", "is not a host name"),
        ("https:/example.com", "not a complete URL"),
        ("gopher://example.com/", "gopher URLs cannot be fetched"),
        ("https://a@b.example/", "user name or password"),
        ("https://a%2eb.example/", "percent-encoded"),
        ("https://example.com\\@evil.example/", "a backslash"),
        ("https://exa mple.com/", "a space"),
        ("https://example.com/\u2028x", "U+2028"),
        ("https://example.com:99999/", "is not a port"),
        ("https://example.com:٨٠/", "is not a port"),
        ("https://example.com:80:80/", "more than one colon"),
        ("https://a..example/", "is not a host name"),
        ("https://example.com../", "is not a host name"),
        ("https://-a.example/", "is not a host name"),
        (f"https://{'a' * 64}.example/", "is not a host name"),
        ("https://[::1/", "The closing bracket of the IPv6 address is missing"),
        ("https://[fe80::1%25eth0]/", "percent-encoded"),
        ("https://xn--a.example/", "not a valid international host name"),
        ("https://a\u200b\u0301\u0301‮.example/", "not a valid international host name"),
        ("http://127.0.0.0x1/", "an unusual spelling of the address 127.0.0.1"),
        ("http://010.0.0.1/", "an unusual spelling of the address 8.0.0.1"),
        ("http://①②⑦.0.0.1/", None),
        ("http://256.0.0.1/", "neither a host name nor an IPv4 address"),
        ("http://1.2.3.4.5/", "neither a host name nor an IPv4 address"),
        ("http://example.0x/", "neither a host name nor an IPv4 address"),
        (f"https://example.com/{'a' * 5000}", "the limit is 4096"),
    ],
)
def test_what_two_programs_could_read_in_two_ways_is_refused(text, words):
    if words is None:
        assert parse(text).host == "127.0.0.1"
        return
    with pytest.raises(Refused) as refused:
        parse(text)
    assert words in str(refused.value)


@given(st.text(alphabet=st.sampled_from("ht:/@[]%\\.?#0x127aé。\uff11\t \u202e-_"), max_size=24))
def test_whatever_parses_parses_again_to_the_same(tail):
    try:
        url = parse(f"http://{tail}")
    except Refused:
        return
    assert parse(str(url)) == url
    assert url.host == normal_host(url.host)


@pytest.mark.parametrize(
    ("location", "meant"),
    [
        ("/b", "https://example.com/b"),
        ("b?c", "https://example.com/x/b?c"),
        ("//evil.example/", "https://evil.example/"),
        ("?q", "https://example.com/x/a?q"),
    ],
)
def test_a_redirect_is_read_by_the_same_parser(location, meant):
    assert str(joined(parse("https://example.com/x/a"), location)) == meant


@pytest.mark.parametrize("location", ["\\\\evil.example/", "/a b", "javascript:alert(1)", "https://a@b.example/"])
def test_a_redirect_to_nonsense_is_refused(location):
    with pytest.raises(Refused):
        joined(parse("https://example.com/"), location)


PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1", "2a00:1450::1"]
PUBLIC += ["64:ff9b::808:808", "::ffff:8.8.8.8"]
SPECIAL = {
    "loopback": ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1"],
    "private": [
        "10.1.1.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "fc00::1",
        "fdff::1",
        "fec0::1",
        "::10.0.0.1",
    ],
    "link-local": ["169.254.1.1", "fe80::1"],
    "metadata": ["169.254.169.254", "168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254"],
    "shared": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "reserved": ["240.0.0.1", "255.255.255.255", "192.0.0.1", "192.88.99.1", "2002:808:808::1", "100::1", "::8.8.8.8"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "benchmarking": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
}


@pytest.mark.parametrize("text", PUBLIC)
def test_addresses_of_the_public_internet_are_public(text):
    assert kind_of(ip_address(text)) == "public"


@pytest.mark.parametrize(("text", "kind"), [(text, kind) for kind, texts in SPECIAL.items() for text in texts])
def test_special_addresses_are_named_for_what_they_are(text, kind):
    assert kind_of(ip_address(text)) == kind


def teredo(v4):
    return 0x2001_0000 << 96 | (int(v4) ^ 0xFFFFFFFF)


WRAPPINGS = {
    "mapped": lambda v4: 0xFFFF << 32 | int(v4),
    "compatible": int,
    "translated": lambda v4: 0xFFFF << 48 | int(v4),
    "nat64": lambda v4: 0x64_FF9B << 96 | int(v4),
    "nat64-local": lambda v4: 0x64_FF9B_0001 << 80 | int(v4),
    "6to4": lambda v4: 0x2002 << 112 | int(v4) << 80,
    "teredo": teredo,
    "isatap": lambda v4: 0x2606_4700 << 96 | 0x5EFE << 32 | int(v4),
    "isatap-global": lambda v4: 0x2606_4700 << 96 | 0x0200_5EFE << 32 | int(v4),
}


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
@given(data=st.data())
def test_no_wrapping_makes_a_private_ipv4_address_public(wrap, data):
    inside = data.draw(st.sampled_from(["127.0.0.0/8", "10.0.0.0/8", "192.168.0.0/16", "169.254.0.0/16"]))
    v4 = data.draw(st.ip_addresses(network=inside))
    assert kind_of(ip_address(wrap(v4).to_bytes(16, "big"))) != "public"
