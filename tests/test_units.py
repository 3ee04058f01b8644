"""Quantities are read exactly as written, refused with a remedy when they cannot be meant, and written back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgather.units import (
    BANDWIDTH,
    BYTES,
    COUNT,
    FLOPS,
    TIME,
    Quantity,
    Size,
    format_bytes,
    format_count,
    format_time,
    parse_bandwidth,
    parse_bytes,
    parse_count,
    parse_flops,
    parse_size,
    parse_time,
)

QUANTITIES = [TIME, BANDWIDTH, BYTES, COUNT, FLOPS]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1.2 ms", 1_200_000),
        ("1.2ms", 1_200_000),
        ("  5 us  ", 5_000),
        ("5 µs", 5_000),
        ("5 μs", 5_000),
        ("7 ns", 7),
        ("1_000 ns", 1_000),
        ("2 s", 2_000_000_000),
        (".5 ms", 500_000),
        ("1e-3 s", 1_000_000),
        ("0.1 us", 100),
        ("1.0000005 ms", 1_000_000),  # halves go to the even neighbour
        ("1.0000015 ms", 1_000_002),
        ("0", 0),
        (0, 0),
        (0.0, 0),
        ("10.0 s", 10_000_000_000),
    ],
)
def test_times_are_read_as_nanoseconds(text: str, ns: int) -> None:
    assert parse_time(text) == ns


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [
        ("340 GB/s", 340 * 10**9),
        ("3.35 TB/s", 3_350 * 10**9),
        ("1 GiB/s", 2**30),
        ("8 KiB/s", 8 * 1024),
        ("5 kB/s", 5_000),
        ("5 MB/s", 5_000_000),
        ("5 B/s", 5),
        ("400 Gb/s", 50 * 10**9),
        ("400 Gbit/s", 50 * 10**9),
        ("400 Gbps", 50 * 10**9),
    ],
)
def test_bandwidths_are_read_as_bytes_per_second(text: str, bytes_per_second: int) -> None:
    assert parse_bandwidth(text) == bytes_per_second


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("67M", 67 * 10**6),
        ("1.2B", 1_200_000_000),
        ("40k", 40_000),
        ("40 K", 40_000),
        ("40_000_000", 40_000_000),
        ("2G", 2 * 10**9),
        ("1T", 10**12),
        (12, 12),
        ("0", 0),
    ],
)
def test_counts_are_read_as_elements(text: str | int, elements: int) -> None:
    assert parse_count(text) == elements


def test_a_size_is_in_elements_or_in_bytes() -> None:
    assert parse_size("40M") == Size(elements=40_000_000)
    assert parse_size(40) == Size(elements=40)
    assert parse_size("64 MiB") == Size(bytes=64 * 2**20)
    assert parse_size("40 bytes") == Size(bytes=40)
    assert parse_bytes("128 MB") == 128_000_000
    assert parse_bytes("128 B") == 128


@pytest.mark.parametrize("text", ["690 TFLOP/s", "0.69 PFLOP/s", "690000 GFLOP/s", "690 TFLOPS", "690Tflop/s"])
def test_compute_rates_are_read_as_operations_per_second(text: str) -> None:
    assert parse_flops(text) == 690 * 10**12


@pytest.mark.parametrize(
    ("parse", "written", "remedy"),
    [
        (parse_time, "3", "a time needs a unit: 1.2 ms"),
        (parse_time, 3, "a time needs a unit: 1.2 ms"),
        (parse_time, "3 MS", "a time cannot be in 'MS'; did you mean ms? as in 1.2 ms"),
        (parse_time, "3 days", "a time cannot be in 'days'; write one of ns, us, ms, s as in 1.2 ms"),
        (parse_time, "-1 ms", "a time cannot be negative, got -1 ms"),
        (parse_time, "nan", "a time is written like 1.2 ms, got 'nan'"),
        (parse_time, float("nan"), "a time must be finite: 1.2 ms"),
        (parse_time, float("inf"), "a time must be finite: 1.2 ms"),
        (parse_time, "", "a time is written like 1.2 ms, got ''"),
        (parse_time, True, "a time is written like 1.2 ms, got true or false"),
        (parse_time, None, "a time is written like 1.2 ms, got nothing"),
        (parse_time, ["1 ms"], "a time is written like 1.2 ms, got a list"),
        (parse_time, "864001 s", "a time of 864001 s is absurd: the most is 864000 s"),
        (parse_time, "1e999 s", "a time of 1e999 s is absurd: the most is 864000 s"),
        pytest.param(parse_time, 10**5000, "a time that large is absurd: the most is 864000 s", id="huge"),
        (parse_time, "9" * 100 + " s", "a time is written like 1.2 ms, got '" + "9" * 37 + "...'"),
        (parse_bandwidth, "340", "a bandwidth needs a unit: 340 GB/s"),
        (parse_bandwidth, "0", "a bandwidth must be at least 1 B/s, got 0"),
        (parse_bandwidth, "340 gb/s", "a bandwidth cannot be in 'gb/s'; did you mean GB/s? as in 340 GB/s"),
        (parse_bandwidth, "340 GB", "a bandwidth cannot be in 'GB'; did you mean GB/s? as in 340 GB/s"),
        (parse_count, "40m", "a count cannot be in 'm'; did you mean M? as in 67M"),
        (parse_count, 2.5, "a count without a suffix is a whole number: 67M"),
        (parse_count, 3.0, "a count without a suffix is a whole number: 67M"),
        (parse_count, "1001T", "a count of 1001T is absurd: the most is 1000T"),
        (parse_count, -1, "a count cannot be negative, got -1"),
        (parse_size, "40B", "'40B' could be bytes or billions of elements: write 40 bytes or 40G"),
        (parse_size, "40 Mi", "a size cannot be in 'Mi'; write elements as in 40M or bytes as in 64 MiB"),
        (parse_bytes, "40", "a size needs a unit: 64 MiB"),
        (parse_flops, "690", "a compute rate needs a unit: 690 TFLOP/s"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_remedy(parse, written, remedy: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(remedy)}$"):
        parse(written)


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda quantity: quantity.what)
@given(data=st.data())
def test_what_exact_writes_reads_back_as_the_same_integer(quantity: Quantity, data: st.DataObject) -> None:
    value = data.draw(st.integers(quantity.least, quantity.most))
    written = quantity.exact(value)
    assert quantity.read(written) == value
    assert re.search(quantity.pattern, written)


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda quantity: quantity.what)
@given(data=st.data())
def test_the_pattern_accepts_what_is_read_and_nothing_else(quantity: Quantity, data: st.DataObject) -> None:
    number = st.from_regex(r"\A[+-]?[0-9_.]{0,4}(e-?[0-9])?\Z", fullmatch=True)
    unit = st.sampled_from(["", "x", *quantity.units])
    text = "".join(data.draw(st.tuples(number, st.sampled_from(["", " "]), unit)))
    try:
        quantity.read(text)
    except ValueError as error:
        in_range = "absurd" not in str(error) and "at least" not in str(error)
        assert not (in_range and re.search(quantity.pattern, text))
    else:
        assert re.search(quantity.pattern, text)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1 us"),
        (1_234_567, "1.23 ms"),
        (12_345_678, "12.3 ms"),
        (-1_500, "-1.5 us"),
        (999_499, "999 us"),
        (999_500, "1 ms"),
        (123_456_789_012, "123 s"),
        (5_000_000, "5 ms"),
    ],
)
def test_times_are_shown_in_three_digits(ns: int, text: str) -> None:
    assert format_time(ns) == text


def test_sizes_and_counts_are_shown_in_three_digits() -> None:
    assert format_bytes(134_217_728) == "134 MB"
    assert format_bytes(512) == "512 B"
    assert format_count(67_108_864) == "67.1M"
    assert format_count(1_200_000_000) == "1.2B"
    assert format_count(7) == "7"


@given(st.integers(0, TIME.most))
def test_what_is_shown_is_within_half_a_percent(ns: int) -> None:
    assert abs(parse_time(format_time(ns)) - ns) <= 0.005 * ns
