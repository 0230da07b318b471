"""What may be fetched from: only what is public, however it is written, whatever it resolves to."""

from __future__ import annotations

import ipaddress

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx_crawl import addresses as targets
from pnyx_crawl.addresses import FetchPolicy, is_public, network, parse_target
from pnyx_crawl.fetch_result import NotFetchedError

# One address of each block of IANA's special-purpose registries, and what clouds use.
FORBIDDEN = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1
127.255.255.254 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192
192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1
239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
:: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 ::8.8.8.8 64:ff9b:1::1 64:ff9b::7f00:1
64:ff9b::a9fe:a9fe 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1
2001:20::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254
fe80::1 fe80::1%eth0 2606:4700::1111%eth0 fec0::1 ff02::1 ff0e::1
""".split()

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0
223.255.255.255 2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450:4001::1
64:ff9b::808:808
""".split()


@pytest.mark.parametrize("address", FORBIDDEN)
def test_forbidden_addresses(address):
    assert not is_public(address)
    with pytest.raises(NotFetchedError, match="private"):
        FetchPolicy().check(address, 80)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address):
    assert is_public(address)
    FetchPolicy().check(address, 443)
    with pytest.raises(NotFetchedError, match="port: 22"):
        FetchPolicy().check(address, 22)


def special(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or not address.is_global
    )


@given(st.ip_addresses(v=4))
def test_what_the_library_calls_special_is_not_public(address):
    assert not (is_public(address) and special(address))


@given(st.ip_addresses(v=6))
def test_what_the_library_calls_special_is_not_public_in_ipv6(address):
    if address not in ipaddress.ip_network("64:ff9b::/96"):
        assert not (is_public(address) and special(address))
        assert not is_public(address) or address in ipaddress.ip_network("2000::/3")


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_not_public_in_any_disguise_unless_it_is_itself(address):
    number = int(address)
    mapped = ipaddress.IPv6Address((0xFFFF << 32) | number)
    six_to_four = ipaddress.IPv6Address((0x2002 << 112) | (number << 80) | 1)
    compatible = ipaddress.IPv6Address(number)
    nat64 = ipaddress.IPv6Address((0x64FF9B << 96) | number)
    assert not is_public(mapped)
    assert not is_public(six_to_four)
    assert not is_public(compatible)
    assert is_public(nat64) == is_public(address)


@given(
    st.ip_addresses(), st.integers(1, 65535), st.lists(st.ip_addresses(v=4, network="10.0.0.0/8"))
)
def test_only_what_is_named_is_let_in(address, port, named):
    reach = FetchPolicy(tuple(ipaddress.ip_network(one) for one in named))
    if address in named or (is_public(address) and port in (80, 443)):
        reach.check(str(address), port)
    else:
        with pytest.raises(NotFetchedError, match=r"private|port"):
            reach.check(str(address), port)


def test_metadata_is_let_in_by_nothing():
    reach = FetchPolicy((network("0.0.0.0/0"), network("::/0")))
    reach.check("127.0.0.1", 8000)
    for address in ("169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.100.100.200"):
        with pytest.raises(NotFetchedError, match="private"):
            reach.check(address, 80)


def test_a_network_is_one():
    assert str(network("10.1.2.3")) == "10.1.2.3/32"
    with pytest.raises(InputError, match="expected a network"):
        network("10.1.2.3/24")
    with pytest.raises(InputError, match="expected a network"):
        network("intranet")


# --- addresses on the web


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("HTTP://Example.ORG", ("http://example.org", "example.org", 80)),
        (" https://example.org/a?b#c ", ("https://example.org/a?b", "example.org", 443)),
        ("http://example.org:443/", ("http://example.org:443/", "example.org", 443)),
        ("https://\u00fc.example/", ("https://xn--tda.example/", "xn--tda.example", 443)),
        ("http://[::1]:80/", ("http://[::1]/", "::1", 80)),
        ("http://127.1/", ("http://127.1/", "127.1", 80)),
    ],
)  # fmt: skip
def test_an_address_is_taken_apart(url, found):
    target = parse_target(url)
    assert (target.url, target.host, target.port) == found


@pytest.mark.parametrize(
    "url",
    [
        "", "x", "//x", "/x", "http://", "http:///x", "ftp://example.org/", "file:///etc/passwd",
        "gopher://x/", "javascript:alert(1)", "data:text/html,x", "http://user@example.org/",
        "http://user:pass@example.org/", "http://example.org\\@127.0.0.1/", "http://a b/",
        "http://h:0/", "http://h:99999/", "http://h:-1/", "http://h:x/", "http://\x00/",
        "http://h\n/", "http://%31%32%37.0.0.1/", "http://[::1/", "http://[fe80::1%25eth0]/",
        "http://\udc80/", "http://.../", "http://-/\n", "http://x/" + "a" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_page_is_refused(url):
    with pytest.raises(NotFetchedError, match="bad_url"):
        parse_target(url)


@given(st.text() | st.text(max_size=40).map("http://".__add__))
def test_any_text_is_an_address_or_refused(text):
    try:
        target = parse_target(text)
    except NotFetchedError:
        return
    assert target.scheme in ("http", "https")
    assert target.host.isascii()
    assert 0 < target.port < 65536
    assert target.url.isascii()
    assert parse_target(target.url) == target  # what is checked is what is asked for


def test_a_redirect_may_be_relative():
    base = parse_target("https://example.org/a/b?c")
    assert parse_target("../d", base).url == "https://example.org/d"
    assert parse_target("//other.example/", base).url == "https://other.example/"
    with pytest.raises(NotFetchedError, match="bad_url"):
        parse_target("file:///etc/passwd", base)


# --- names


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "0177.1", "localhost", "[::1]"])
def test_names_of_this_machine_are_refused_by_what_they_resolve_to(host):
    with pytest.raises(NotFetchedError) as caught:
        anyio.run(FetchPolicy().addresses, parse_target(f"http://{host}/"))
    assert caught.value.outcome in ("private", "dns")


def test_one_bad_address_among_good_ones_is_enough(monkeypatch):
    async def resolve(host, port):
        return {"good": ["1.1.1.1", "8.8.8.8"], "mixed": ["1.1.1.1", "10.0.0.1"], "no": []}[host]

    monkeypatch.setattr(targets, "resolve", resolve)
    assert anyio.run(FetchPolicy().addresses, parse_target("http://good/")) == [
        "1.1.1.1",
        "8.8.8.8",
    ]
    with pytest.raises(NotFetchedError, match=r"private: 10\.0\.0\.1"):
        anyio.run(FetchPolicy().addresses, parse_target("http://mixed/"))
    with pytest.raises(NotFetchedError, match="dns"):
        anyio.run(FetchPolicy().addresses, parse_target("http://no/"))


@pytest.mark.parametrize(("length", "fits"), [(4096, True), (4097, False)])
def test_an_address_of_a_page_has_at_most_4096_characters(length, fits):
    url = "http://a.org/".ljust(length, "p")
    if fits:
        assert parse_target(url).url == url
    else:
        with pytest.raises(NotFetchedError, match="longer than 4096 characters"):
            parse_target(url)
