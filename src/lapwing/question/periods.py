"""Days, weeks, months, quarters and years: dates as numbers of days, and the public periods between two dates.

All in the Gregorian calendar, extended to the years 1 to 9999; a week begins on Monday, as in ISO 8601.
"""

from __future__ import annotations

from datetime import date, timedelta

from .expression import PARTS, DatePart, Unit

FIRST_DAY, LAST_DAY = date.min, date.max
_EPOCH = date(1970, 1, 1).toordinal()


def day_number(day: date) -> int:
    """Return the number of days after 1970-01-01."""
    return day.toordinal() - _EPOCH


def date_of(number: int) -> date:
    """Return the date that is so many days after 1970-01-01."""
    return date.fromordinal(number + _EPOCH)


def truncated(unit: Unit, day: date) -> date:
    """Return the first day of the week, month, quarter or year of a date."""
    if unit == "WEEK":
        return day - timedelta(days=day.weekday())
    month = {"DAY": day.month, "MONTH": day.month, "QUARTER": day.month - (day.month - 1) % 3, "YEAR": 1}[unit]
    return day if unit == "DAY" else date(day.year, month, 1)


def periods(unit: Unit, first: date, last: date) -> list[date]:
    """Return the first days of all periods between two dates."""
    found, day = [], truncated(unit, first)
    while day <= last:
        found.append(day)
        if unit in ("DAY", "WEEK"):
            ordinal = day.toordinal() + (1 if unit == "DAY" else 7)
        else:
            months = day.month - 1 + {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]
            if day.year + months // 12 > LAST_DAY.year:
                break
            ordinal = date(day.year + months // 12, months % 12 + 1, 1).toordinal()
        if ordinal > LAST_DAY.toordinal():
            break
        day = date.fromordinal(ordinal)
    return found


def part_of(part: DatePart, day: date) -> int:
    """Return a part of a date."""
    quarter = (day.month + 2) // 3
    return {
        "DAY": day.day, "ISODOW": day.isoweekday(), "MONTH": day.month, "QUARTER": quarter, "YEAR": day.year
    }[part]  # fmt: skip


def part_range(part: DatePart, first: date, last: date) -> tuple[int, int]:
    """Return the least and the largest that a part of a date between two dates can be."""
    return PARTS[part] or (first.year, last.year)
