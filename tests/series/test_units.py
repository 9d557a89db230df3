"""Units of time and numbers with a unit."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from coordnet.errors import InputError
from coordnet.series.reading.units import UNITS, find_unit, in_unit, parse_quantity, ratio


def test_a_period_in_a_columns_unit():
    for quantity, unit, number in (
        *(("24h", "h", 24.0), ("24 h", "d", 1.0), ("365.25d", "h", 8766.0), ("1yr", "d", 365.25)),
        *(("1 year", "s", 31_557_600.0), ("1wk", "d", 7.0), ("12.42h", "min", 745.2)),
        *(("0.3days", "s", 25_920.0), ("1e3ms", "s", 1.0), ("1s", "ms", 1000.0)),
        *(("250us", "ns", 250_000.0), ("250µs", "us", 250.0), (".5min", "s", 30.0)),
        *(("5.min", "s", 300.0), ("0.3", "h", 0.3), ("0.3", None, 0.3), (" 7 ", None, 7.0)),
        *((24, "h", 24.0), (0.3, None, 0.3)),
    ):
        assert in_unit("period", quantity, unit) == number, quantity


def test_conversions_are_rounded_once():
    pairs = [("ns", "yr"), ("yr", "ns"), ("h", "d"), ("d", "h"), ("s", "min"), ("wk", "yr")]
    for unit, to in pairs:
        for number in ("0.1", "27.321661", "1e-9", "365.242190402", "7e12"):
            with localcontext() as context:
                context.prec = 60  # far beyond float64: its rounding is the only one
                exact = Decimal(number) * UNITS[unit] / UNITS[to]
            assert in_unit("period", number + unit, to) == float(exact)
        assert ratio(unit, to) * ratio(to, unit) == 1


def test_what_the_units_are():
    assert list(UNITS) == ["ns", "us", "ms", "s", "min", "h", "d", "wk", "yr"]
    assert ratio("yr", "d") == Fraction("365.25")
    assert ratio("d", "s") == 86_400
    assert find_unit("hours") == find_unit("hr") == find_unit("h") == "h"
    assert parse_quantity("period", "1.5h") == (Fraction(3, 2), "h")
    assert parse_quantity("period", "1.5") == (Fraction(3, 2), None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "h", "h24", "-1h", "0h", "0.0d", "nan", "inf", "infh", "nanh", "1e400h", "1e-400d"),
        *("1_000h", "0x10h", "1,5h", "1 2h", "1h2", "1..5h", "e5h", "٣h", "1e99999d"),
        *("1" * 200 + "h", "--1h", "1h 30min"),
    ],
)
def test_what_is_no_quantity(text):
    with pytest.raises(InputError, match="period must be a number above 0") as caught:
        in_unit("period", text, "h")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("unit", ["m", "mo", "month", "H", "Hours", "parsec", "q", "M", "D"])
def test_unknown_units_list_the_known_ones(unit):
    with pytest.raises(InputError, match="ns, us, ms, s, min, h, d, wk, yr") as caught:
        in_unit("period", f"3{unit}", "h")
    assert repr(unit) in str(caught.value)
    with pytest.raises(InputError, match="a unit must be one of"):
        find_unit(unit)


def test_a_unit_for_a_column_without_one_names_the_option():
    with pytest.raises(InputError, match="--unit d"):
        in_unit("period", "365.25d", None)


def test_beyond_float64_and_not_above_0():
    for quantity, unit in (("1e308yr", "ns"), ("1e-320ns", "yr")):
        with pytest.raises(InputError, match="another unit"):
            in_unit("period", quantity, unit)
    for number in (0, -1.0, math.nan, math.inf, True):
        with pytest.raises(InputError, match="period"):
            in_unit("period", number, "h")
