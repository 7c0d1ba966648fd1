"""Marks of noise as flags of SDMX: OBS_STATUS and CONF_STATUS of each number.

The codes are those of the cross-domain code lists CL_OBS_STATUS and CL_CONF_STATUS of SDMX (sdmx.org, guidelines).
Each number has one flag.  Low reliability goes before estimated: it is what a reader must know first.
"""

from __future__ import annotations

from ..release.noise_marks import HIGH, LOW, MEDIUM, NOTHING, UNKNOWN

OBS_STATUS = {
    "A": "Normal value",
    "E": "Estimated value",
    "O": "Missing value",
    "Q": "Missing value; suppressed",
    "U": "Low reliability",
}
CONF_STATUS = {"F": "Free (free for publication)"}
"""The codes that are used, of the lists, with their names."""

FREE = "F"
"""The confidentiality of every number: it has noise or is public, so that all of them may be published."""

NOISE_CODES = {LOW: "LOW", MEDIUM: "MEDIUM", HIGH: "HIGH", NOTHING: "NOTHING", UNKNOWN: "NO_BAR"}
"""The code of each mark of noise, so that SDMX says as much as the other files."""


def obs_status(mark: str, *, missing: bool, suppressed: bool, fitted: bool) -> str:
    """Return the flag of one number.

    Args:
        mark: that of its noise.
        missing: it has no value.
        suppressed: numbers whose noise is high were left out.
        fitted: it was changed after the release, so that it is not negative.
    """
    if missing:
        return "Q" if suppressed and mark in (HIGH, NOTHING) else "O"
    if mark in (MEDIUM, HIGH, NOTHING):
        return "U"
    return "E" if fitted or mark == UNKNOWN else "A"
