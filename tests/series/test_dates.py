"""ISO 8601 to nanoseconds and back."""

import datetime as dt

import pytest

from coordnet.series.reading.dates import (
    DAY,
    Stamp,
    format_stamp,
    is_clock,
    is_date,
    looks_dated,
    parse_stamp,
)

EPOCH = dt.datetime(1970, 1, 1)


def nanoseconds(stamp):
    return stamp.day * DAY + stamp.nanosecond


@pytest.mark.parametrize(
    "text",
    [
        *("2010-01-31T12:00:00Z", "2010-01-31 12:00:00Z", "2010-01-31t12:00:00z"),
        *("2010-01-31T12:00Z", "2010-01-31T12:00:00.000Z", "2010-01-31T12:00:00,0Z"),
        *("2010-01-31T13:00:00+01:00", "2010-01-31T13:00:00+0100"),
        *("2010-01-31T13:00+01", "2010-01-31 06:30:00-05:30", "2010-01-31T12:00:00-00:00"),
        *("2010-01-30T24:00:00-12:00", "2010-02-01T01:45+13:45", " 2010-01-31T12:00:00 Z "),
        "2010-01-31  12:00Z",
        "2010-01-31T12:00:00.000000000000Z",
    ],
)
def test_one_moment_in_many_forms(text):
    assert parse_stamp(text) == Stamp(parse_stamp("2010-01-31").day, DAY // 2, aware=True)


def test_days_and_months_alone():
    assert parse_stamp("1970-01-01") == Stamp(0, 0, whole_day=True)
    assert parse_stamp("1969-12-31").day == -1
    assert parse_stamp("2010-02") == parse_stamp("2010-02-01")
    assert parse_stamp("0001-01-01").day == dt.date.min.toordinal() - EPOCH.toordinal()
    assert parse_stamp("9999-12-31").day == dt.date.max.toordinal() - EPOCH.toordinal()
    assert parse_stamp("2012-02-29").day - parse_stamp("2012-02-28").day == 1
    assert not parse_stamp("2010-01-31T00:00").whole_day


def test_all_nine_decimals():
    for digits in ("1", "12", "123456789", "000000001", "5000000000"):
        stamp = parse_stamp(f"1970-01-01T00:00:00.{digits}")
        assert stamp == Stamp(0, int(digits.ljust(9, "0")[:9]))


def test_against_the_standard_library():
    hypothesis = pytest.importorskip("hypothesis")
    st = hypothesis.strategies
    offsets = st.none() | st.integers(-1439, 1439).map(
        lambda minutes: dt.timezone(dt.timedelta(minutes=minutes))
    )
    inside = {"min_value": dt.datetime(1, 1, 3), "max_value": dt.datetime(9999, 12, 29)}

    @hypothesis.settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @hypothesis.given(moment=st.datetimes(**inside), offset=offsets, sep=st.sampled_from("T "))
    def check(moment, offset, sep):
        stamp = parse_stamp(moment.replace(tzinfo=offset).isoformat(sep))
        utc = moment - (offset.utcoffset(None) if offset else dt.timedelta())
        assert nanoseconds(stamp) == (utc - EPOCH) // dt.timedelta(microseconds=1) * 1000
        assert stamp.aware == (offset is not None)
        again = parse_stamp(format_stamp(stamp))
        assert again == stamp

    check()


REASONS = {
    "ISO 8601": [
        *("", "today", "31.01.2010", "01/31/2010", "2010/01/31", "10-01-31", "2010-1-31"),
        *("2010-W05-7", "2010-031", "2010-01-31T", "2010-01-31T12", "2010-01-31T12:00 CET"),
        *("12:00", "2010-01-31T12:00:00.", "2010-01-31T12:00.5", "2010-01-31T12:00+1"),
        *("20100131", "+2010-01-31", "2010", "２０１０-01-31", "2010-01-31\n12:00", "2010-01-31x"),
        *("2010-01-31T12:00+24:00", "2010-01-31T12:00+01:60"),
    ],
    "without a day": ["2010-02T12:00"],
    "no such date": ["2010-02-30", "2011-02-29", "2010-13-01", "2010-00-01", "0000-01-01"],
    "time of day": [
        *("2010-01-31T25:00", "2010-01-31T24:01", "2010-01-31T24:00:00.1", "2010-01-31T12:60"),
        "2010-01-31T12:00:61",
    ],
    "leap second": ["2016-12-31T23:59:60Z"],
    "nanosecond": ["2010-01-31T12:00:00.1234567891"],
    "years 1 to 9999": [
        *("0001-01-01T00:00+01:00", "9999-12-31T23:00-02:00", "9999-12-31T24:00"),
    ],
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_refused_says_why(reason):
    for text in REASONS[reason]:
        with pytest.raises(ValueError, match=reason):
            parse_stamp(text)


def test_writing():
    assert format_stamp(Stamp(0, 0, whole_day=True)) == "1970-01-01"
    assert format_stamp(Stamp(0, 0)) == "1970-01-01T00:00:00"
    assert format_stamp(Stamp(-1, DAY - 1, aware=True)) == "1969-12-31T23:59:59.999999999Z"
    assert format_stamp(Stamp(0, 1_500_000_000)) == "1970-01-01T00:00:01.5"
    with pytest.raises((OverflowError, ValueError)):
        format_stamp(Stamp(10**7, 0))


def test_what_is_meant_as_a_date():
    for text in ("2010-01-31", "2010-01", "1.2.2010", "01/02/10", "12:30", " 2010-01-31T00:00Z"):
        assert looks_dated(text)
    for text in ("", "20100131", "1.2", "-5", "2010", "1e-10", "10-01", "a 2010-01-31", "1958.24"):
        assert not looks_dated(text)
    assert is_date("2010-01-31")
    assert not is_date("2010-01-31T00:00")
    assert is_clock("23:59:59.5+01:00")
    assert not is_clock("2010-01-31")
