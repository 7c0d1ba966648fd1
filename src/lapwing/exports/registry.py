"""A record for the public registry of deployments of differential privacy, as YAML, to be completed by its owner.

What the program knows is filled in; what only the owner can say is empty, and marked.  The fields are those of the
schema that the registry publishes (opendp/deployments-registry-data, schemas/deployments-schema.yaml, 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .. import exact
from ..measure.public_n import has_public_n
from ..plan.plan import Plan
from ..release.legend import percent
from ..release.result import Release
from ..report import printable
from .described import Answer, facts_of, identity_of, plan_of, release_of, software
from .texts import code_span, markdown, yaml_scalar

FILL_IN = "fill in"
"""The comment beside what only the owner can say."""


def registry_record(answer: Answer) -> str:
    """Return the record."""
    lines = [
        "# A record for the registry of deployments of differential privacy.",
        "# Complete every line that says: fill in.  Then check it with the tools of the registry.",
        *_lines(_record(answer), 0),
    ]
    return "\n".join(lines) + "\n"


class Blank(str):
    """A text that only the owner can write; the text says what is wanted."""


def _record(answer: Answer) -> dict[str, Any]:
    plan, release = plan_of(answer), release_of(answer)
    day = (release.recorded_at or "")[:10]
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", "_".join(identity_of(answer)).lower()).strip("_"),
        "deployment": {
            "basic": {
                "name": markdown(plan.schema.name),
                "data_curators": [
                    {
                        "data_curator_name": Blank("the organization that publishes"),
                        "data_curator_type": Blank("Government, Industry or Nonprofit"),
                    }
                ],
                "description": f"{_what(answer)}: {code_span(plan.query.text)}",
                "intended_use": Blank("what the numbers are for"),
                "data_product_type": "Summary statistics",
                "data_product_region": Blank("which region the data describe"),
                "data_product_sector": Blank("Technology, Healthcare, Education, Government, Energy or Finance"),
                "publication_date": day or Blank("YYYY-MM-DD"),
            },
            "dp_variant": {
                "variant_name": "Pure DP",
                "data_domain": _domain(plan),
                "unprotected_quantities": _unprotected(plan),
            },
            "privacy_loss": _loss(plan, release),
            "deployment_model": _model(),
            "implementation": _implementation(answer),
            "administrative": {"status": "Draft", "registry_authors": [Blank("who filled this in")], "tier": 3},
        },
    }


def _what(answer: Answer) -> str:
    made = "Release" if isinstance(answer, Release) else markdown(answer.what)
    return f"{made} from {markdown(plan_of(answer).schema.name)}"


def _domain(plan: Plan) -> str:
    columns = plan.schema.columns
    told = "; ".join(f"{code_span(name)} ({_declaration(columns[name].describe())})" for name in plan.declared)
    rows = "All tables whose rows belong to people" if plan.schema.person is not None else "All tables of people"
    return f"{rows}, whatever their cells hold. Declared columns: {told or 'none'}."


def _declaration(described: Mapping[str, Any]) -> str:
    shown = dict(described)
    if isinstance(shown.get("keys"), list):
        shown["keys"] = f"{len(shown['keys'])} public keys"
    texts = ("other", "missing", "expression")  # what others wrote
    return ", ".join(
        f"{name} {code_span(_short(value)) if name in texts else _short(value)}" for name, value in shown.items()
    )


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable(text if len(text) <= 200 else f"{text[:199]}…")


def _unprotected(plan: Plan) -> str:
    public = "Public by declaration, before any data is read: the names of columns, bounds, keys, labels and units."
    if has_public_n(plan.schema, plan.query):
        return f"The number of rows. {public}"
    if plan.schema.neighbors == "change_one":
        return f"The number of people is not protected (change_one). All numbers of this release have noise. {public}"
    return f"None is released in the clear. {public}"


def _loss(plan: Plan, release: Release) -> dict[str, Any]:
    schema = plan.schema
    if schema.person is None:
        unit, rows = "One person, who has one row", "one row"
    else:
        unit = "One person, with all rows they have"
        rows = f"all rows with one value of {code_span(schema.person)}"
    change = "adding or removing" if schema.neighbors == "add_remove" else "replacing"
    details = f"Two tables are adjacent if {change} {rows} turns one into the other ({schema.neighbors})."
    if schema.person is not None:
        details += f" People with more than {schema.rows_per_person} rows are weighted down to that weight in all."
    left = "" if release.remaining is None else f" Left in the ledger after it: ε = {exact.text(release.remaining)}."
    epsilon = plan.epsilon if release.entry is not None else 0
    return {
        "privacy_unit": unit,
        "privacy_unit_details": details,
        "privacy_parameters": {"epsilon": float(epsilon)},
        "privacy_parameters_details": f"ε of this release, δ = 0.{left} A ledger holds the sums of ε and of δ of "
        "all releases of this table below their totals, and charges before the data is read.",
    }


def _model() -> dict[str, Any]:
    return {
        "model_name": "Central",
        "trust_assumptions": Blank("who can see the data, the ledger and the machine, and why they are trusted"),
        "actors": Blank("who holds the data, who asks, and who sees the numbers"),
        "release_type": Blank("One release or Many releases"),
        "release_type_details": Blank("what else was or will be released from this table"),
        "data_source_type": Blank("Static or Dynamic"),
        "access_type": Blank("Interactive or Non-interactive"),
        "access_type_details": Blank("which analysts may ask, and their caps of ε"),
    }


def _implementation(answer: Answer) -> dict[str, Any]:
    plan = plan_of(answer)
    return {
        "preprocessing_and_hyperparameter_tuning": Blank(
            "where bounds, keys and ε come from; what was looked for privately is in the ledger"
        ),
        "mechanisms": _mechanisms(plan),
        "composition": _composition(plan),
        "post_processing": _after(answer),
        "justification": Blank("why this ε, this privacy unit and these bounds"),
        "utility": _utility(answer),
        "additional_information": f"Made by {software()}.",
    }


def _utility(answer: Answer) -> str:
    numbers = [each for each in answer.columns if each["kind"] not in ("key", "label", "grouping")]
    bare = [str(each["name"]) for each in numbers if not each.get("interval", True)]
    exactly = plan_of(answer).without_noise
    bars = (
        f"a {percent(answer.confidence)} error bar (confidence interval) of the noise, and a mark of how large it is."
    )
    told = [f"Exact, since it is public: {', '.join(map(code_span, exactly))}."] if exactly else []
    if len(bare) + len(exactly) < len(numbers):
        told.append(f"{'Every other' if bare or exactly else 'Every'} number is published with {bars}")
    if bare:
        told.append(f"Published without error bars: {', '.join(map(code_span, bare))}.")
    return " ".join(told)


def _mechanisms(plan: Plan) -> str:
    chosen = any(each.chosen_values for each in plan.measured)
    added = not all(each.chosen_values for each in plan.measured)
    how = []
    if added:
        how.append(
            "Discrete Laplace mechanism: integer noise with probability tanh(1/2s)·e^(-|x|/s) is added to exact "
            "integer sums; s is the sensitivity divided by the share of ε."
        )
    if chosen:
        how.append("Quantiles are chosen by permute-and-flip on a public grid of values.")
    return " ".join(
        [
            *how,
            f"Implemented by {software()}.",
            "Floating point: none before or in the noise. Values are rounded to a public grid, sums are integers, and "
            "the law of the noise is exact at every rational scale.",
            "Timing: the time of a draw is unrelated to the noise that is drawn, as far as the audit can measure; the "
            "time that the engine takes to read the table is not hidden.",
            "Randomness is cryptographic, and drawn afresh in each call.",
        ]
    )


def _composition(plan: Plan) -> str:
    over = "Sequential over releases: ε and δ add up, and δ of this release is 0."
    if len(plan.parts) == 1:
        return f"{over} It is one measurement, which has all of its ε."
    shares = ", ".join(f"{code_span(name)} {share}" for name, share in plan.split.items())
    return f"{over} Within it, the shares of ε of the measurements add up to ε exactly: {shares}."


def _after(answer: Answer) -> str:
    told = ["Estimates and error bars are computed from the noisy integers and public parameters alone."]
    if isinstance(answer, Release):
        if answer.plan.several is not None:
            told.append("Tables were made to add up, by the weights of least variance.")
        if answer.view == "nonnegative":
            whole = ", as whole numbers" if answer.rounded else ""
            told.append(f"Numbers that cannot be negative were changed so that none is{whole}.")
        if facts_of(answer)["cut"] is not None:
            told.append("Only some groups are shown, chosen by their released numbers.")
    else:
        told.append(f"{markdown(answer.what)}, computed from released numbers.")
    if answer.suppress:
        told.append("Numbers whose noise is high were left out, by their error bars.")
    return " ".join(told)


def _lines(value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of a block of YAML."""
    indent = "  " * depth
    for name, each in value.items():
        if isinstance(each, dict):
            yield f"{indent}{name}:"
            yield from _lines(each, depth + 1)
        elif isinstance(each, list):
            yield f"{indent}{name}:"
            for item in each:
                yield from _item(item, depth + 1)
        else:
            yield f"{indent}{name}: {_scalar(each)}"


def _item(item: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(item, dict):
        first, *rest = _lines(item, depth + 1)
        yield f"{indent}- {first.lstrip()}"
        yield from rest
    else:
        yield f"{indent}- {_scalar(item)}"


def _scalar(value: Any) -> str:
    return f'"" # {FILL_IN}: {value}' if isinstance(value, Blank) else yaml_scalar(value)
