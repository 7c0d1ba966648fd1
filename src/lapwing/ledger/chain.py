"""The hash chain of a ledger: how entries are hashed, and how each must follow from those before it (claim L4)."""

from __future__ import annotations

import hashlib
import json
import re
import uuid

from ..errors import InvalidParameter
from .store import Row

START = "0" * 64
"""The hash that the first entry takes as the previous one."""

_HASH = re.compile(r"[0-9a-f]{64}")


class State:
    """What the entries so far imply for the next one."""

    def __init__(self) -> None:
        self.previous = START
        self.running = {"total": 0, "total_delta": 0, "spent": 0, "spent_delta": 0}
        self.caps: dict[str, tuple[int, int]] = {}
        self.kinds: dict[int, str] = {}
        self.answered: set[int] = set()
        self.requests: dict[int, tuple[str, int]] = {}
        self.keys: set[str] = set()

    def fault(self, row: Row, number: int) -> str | None:
        """Return what is wrong with the entry, if anything, and update the state with it."""
        if row["number"] != number:
            return "is missing"
        if row["previous"] != self.previous:
            return "does not follow the one before it"
        if digest(row) != row["hash"]:
            return "does not match its hash"
        try:
            adds_up = self._follows(row)
        except (KeyError, TypeError):  # the hash was recomputed, but the fields are not those of an entry
            adds_up = False
        if not adds_up:
            return "does not add up"
        self.previous, self.kinds[number] = row["hash"], row["kind"]
        return None

    def _follows(self, row: Row) -> bool:
        kind, name = row["kind"], row["analyst"]
        if (kind == "open") != (row["number"] == 1) or (row["epsilon"] or 0) < 0 or (row["delta"] or 0) < 0:
            return False
        if kind in ("open", "total"):
            self.running |= {"total": row["epsilon"], "total_delta": row["delta"]}
        elif kind == "charge":
            self.running["spent"] += row["epsilon"]
            self.running["spent_delta"] += row["delta"]
            if any(self.running[f"spent{unit}"] > self.running[f"total{unit}"] for unit in ("", "_delta")):
                return False
            if name is not None:
                cap, spent = self.caps[name]
                self.caps[name] = (cap, spent + row["epsilon"])
                if spent + row["epsilon"] > cap:
                    return False
            if row["key"] != question_key(row["epsilon"], row["delta"], row["question"]) or row["key"] in self.keys:
                return False
            self.keys.add(row["key"])
        elif kind == "analyst":
            self.caps[name] = (row["epsilon"], self.caps.get(name, (0, 0))[1])
        elif kind == "request":
            if row["epsilon"] <= self.caps[name][0] or not row["note"]:
                return False
            self.requests[row["number"]] = (name, row["epsilon"])
        elif kind in ("grant", "decline", "withdraw"):
            asking, wanted = self.requests.pop(row["charge"])
            if asking != name:
                return False
            if kind == "grant":
                cap, spent = self.caps[name]
                self.caps[name] = (row["epsilon"], spent)
                if not cap < row["epsilon"] <= wanted:
                    return False
        elif kind == "answer":
            if self.kinds.get(row["charge"]) != "charge" or row["charge"] in self.answered:
                return False
            self.answered.add(row["charge"])
        else:
            return False
        carried = None if name is None else (row["cap"], row["cap_spent"])
        return self.running == {key: row[key] for key in self.running} and carried == self.caps.get(name)


def hidden_answer(charge: Row, later: list[Row]) -> str | None:
    """Return what is wrong if a charge seems to have no answer; None if the entries after it are whole and lack one.

    Without this, an answer that was removed, or that an edited index hides, would be given again with other noise.
    """
    last = charge
    for row in later:
        if row["number"] != last["number"] + 1 or row["previous"] != last["hash"] or digest(row) != row["hash"]:
            return f"entry {last['number'] + 1}: is missing, or does not match its hash"
        if row["charge"] == charge["number"]:
            return f"entry {row['number']}: the index lacks it"
        last = row
    return None


def digest(row: Row) -> str:
    """Return the hash of an entry: of the canonical JSON of its non-empty fields, except the hash itself."""
    fields = {name: value for name, value in row.items() if value is not None and name != "hash"}
    return sha256(json.dumps(fields, sort_keys=True, separators=(",", ":"), default=_foreign))


def _foreign(value: object) -> list[str]:
    """Return a substitute for a value that JSON cannot hold and only a damaged file can contain."""
    return ["foreign", type(value).__name__, repr(value)]


def question_key(epsilon: int, delta: int, question: str) -> str:
    """Return the text that is equal for equal questions."""
    return sha256(f"{epsilon} {delta} {question}")


def random_key() -> str:
    """Return the key of a first entry: shorter than that of any question, and another one for each ledger."""
    return uuid.uuid4().hex


def sha256(text: str) -> str:
    """Return the hash of a text, in hexadecimal."""
    return hashlib.sha256(str(text).encode()).hexdigest()


def checked_head(head: object) -> str:
    """Return a head that was kept; refuse what is no hash, which is a mistake in typing and no sign of damage."""
    if not isinstance(head, str) or not _HASH.fullmatch(head):
        raise InvalidParameter(head, "head", "64 hexadecimal digits, as they were kept")
    return head
