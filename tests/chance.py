"""How often each test that draws at random fails on a correct build: the whole suite, in less than 10^-6 of its runs.

Every test that uses a source of randomness (tests/drawn.py) is here, with a rate for all of its parameters
together and one line of reason.  A rate is computed, from the exact law of integer noise or by an inequality that is
true.  It is 0 only if the test cannot fail by what is drawn: ``never``.  A test whose rate would be too high uses the
fixture ``frozen_noise``, and draws nothing.  ``make soak`` runs all of these tests repeatedly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from lapwing.release.bounds import ends

LIMIT = 1e-6
"""The whole suite fails by chance less often than this."""

ALPHA = 1e-8
"""The rate of one statistical test (tests/statistics.py)."""

FINDING = 1e-9
"""The rate of one statistical finding of the audit (claim C4)."""

BINS = len(ends(False))
"""The number of bins from which bounds are chosen."""


class Chance(NamedTuple):
    """The rate with which a test fails on a correct build, and why it is no higher."""

    rate: float
    reason: str


# --- the law of integer noise, P(X = x) = (1 - q)/(1 + q)·q^|x|, q = e^(-1/s), and inequalities ---


def above(k: float, scale: float) -> float:
    """P(X ≥ k) for k ≥ 1; below ``beyond`` for a k that is not whole."""
    return math.exp(-math.ceil(k) / scale) / (1 + math.exp(-1 / scale))


def beyond(k: float, scale: float) -> float:
    """P(|X| ≥ k) for k ≥ 1."""
    return 2 * above(k, scale)


def far(scales: float) -> float:
    """P(|X| ≥ scales·s) is at most this for every scale s."""
    return 2 * math.exp(-scales)


def likeliest(scale: float) -> float:
    """P(X = 0): no other number is likelier, and two draws are equal with at most this probability."""
    return math.tanh(1 / (2 * scale))


def threshold(scale: float, delta: float, keys: int) -> int:
    """The smallest count with which keys are shown; ``keys`` keys of one person are, with probability at most δ."""
    found = 2
    while -math.expm1(keys * math.log1p(-above(found - 1, scale))) > delta:
        found += 1
    return found


def hidden(people: int, scale: float, delta: float, keys: int) -> float:
    """The probability that a key is not shown, if more people have it than the threshold asks for."""
    return above(people - threshold(scale, delta, keys) + 1, scale)


def summed(t: float, *scales: float) -> float:
    """A bound of P(|Σ Xᵢ| ≥ t), by Chernoff: E e^(θX) ≤ 1/(1 - θ²s²), with equality for noise on the real line."""
    parts = [k / (1000 * max(scales)) for k in range(1, 1000)]
    return min(2 * math.exp(-theta * t - sum(math.log1p(-((theta * s) ** 2)) for s in scales)) for theta in parts)


def hoeffding(n: int, off: float) -> float:
    """A bound of the probability that the mean of n numbers between 0 and 1 is off by so much, on one side."""
    return math.exp(-2 * n * off**2)


def many(n: int, k: int, p: float) -> float:
    """A bound of the probability of k or more hits, of n with probability at most p each, by a sum over who hits."""
    return math.comb(n, k) * p**k


def bernstein(t: float, variance: float, most: float) -> float:
    """A bound of the probability that |a sum of independent numbers of the mean 0, each at most ``most``| ≥ t."""
    return 2 * math.exp(-(t**2) / (2 * variance + 2 * most * t / 3))


# --- reasons ---

NAMES: set[str] = set()
"""The names of the statistical tests; each is run once."""


def laws(*names: str) -> Chance:
    """Return the chance of statistical tests, by their names."""
    assert not NAMES & {*names}
    NAMES.update(names)
    return Chance(len(names) * ALPHA, f"statistical, at {ALPHA} each: {', '.join(names)}")


def never(reason: str) -> Chance:
    """Return the chance of a test that cannot fail by what is drawn."""
    return Chance(0.0, reason)


CHARGES = never("asserts what is charged, repeated, recorded or refused, and no noisy number")
FORM = never("asserts types, shapes, names and order, which are public")
TEXTS = never("asserts words of a text, none of which can be a number")
ALIKE = never("compares the same noisy numbers in two forms")
WIDTHS = never("asserts the widths of error bars, which are public")
TRUE_OF_ALL = never("asserts what is true of every number that can be drawn")
TRIED = never("a property that is true of all numbers, tried at random ones")
NO_NOISE = never("another process, which draws no noise")

SHOWN = 1e-8 + hidden(200, 2, 1e-8, 2)
"""Keys of a single person stay hidden except with probability δ, and those of 200 people are shown."""

FOUR_COUNTS = 4 * summed(0.5, *[2 / 150] * 3) + 4 * far(100)
"""Four counts off by a half; keys of ten people are shown, and a bin of some rows is occupied."""

_BY_FILE: dict[str, dict[str, Chance]] = {
    "tests/test_chance.py": {
        "test_a_test_that_draws_and_is_not_in_the_list_fails": never("asserts who draws, and not what"),
        "test_soak_repeats_tests_and_counts_failures": never("asserts which tests fail, and those do so by a plan"),
        "test_what_chooses_examples_is_the_same_in_each_run_unless_new_ones_are_searched": Chance(
            5 * 2.0**-52, "new numbers of 52 bits or more are the old ones"
        ),
    },
    "tests/test_seeds.py": {
        "test_every_number_of_the_section_is_what_the_software_gives": FORM,
        "test_a_wrong_number_fails_its_section_and_no_other": FORM,
        "test_each_expected_output_is_compared_to_its_last_digit": FORM,
        "test_every_release_is_a_multiple_of_the_step_whatever_the_answer": TRUE_OF_ALL,
    },
    "tests/claims/test_bounds.py": {
        "test_T9_bounds_are_charged_once_and_a_repeated_question_is_free": Chance(
            above(2000, 2), "some bin is occupied: one has 2,222 rows, at scale 2"
        ),
        "test_a_bound_inside_a_bin_leaves_the_bin_open": Chance(
            5 * BINS * beyond(1, 1 / 100), "no bin has noise at ε = 100"
        ),
        "test_a_histogram_by_another_key_too_is_no_search_for_bounds": FORM,
        "test_a_histogram_of_other_data_says_nothing_about_this_version": CHARGES,
        "test_a_plan_never_fails_because_of_the_ledger": CHARGES,
        "test_a_plan_tells_how_to_ask_for_what_is_clipped_and_the_share_once_it_is_known": Chance(
            BINS * beyond(1, 1 / 40) + 2 * beyond(4, 1 / 50), "no bin has noise at ε = 40; 10 of 1,000 rows at ε = 50"
        ),
        "test_a_plan_with_a_condition_tells_no_share_of_all_rows": CHARGES,
        "test_the_share_beyond_declared_bounds_holds_at_borders_and_far_out": Chance(
            18 * BINS * beyond(1, 1 / 50), "no bin has noise at ε = 50"
        ),
        "test_values_beyond_the_last_border_are_in_the_last_bin_and_it_is_said": Chance(
            above(500, 1), "the last bin is occupied: it has 600 rows, at scale 1"
        ),
    },
    "tests/claims/test_checks.py": {
        "test_C4_the_false_alarms_of_all_findings_add_up_to_less_than_a_millionth": never(
            "adds up the rates that findings declare, whether they pass or not"
        ),
    },
    "tests/claims/test_discover.py": {
        "test_L1_the_total_delta_is_never_exceeded": CHARGES,
        "test_R2_charge_count_record_show_in_this_order": CHARGES,
        "test_T10_T19_keys_come_in_their_own_order_whatever_the_rows": Chance(
            2 * hidden(90, 2, 1e-8, 2), "two keys of 90 people are shown"
        ),
        "test_T10_rare_keys_leave_no_trace": Chance(
            50 * 1e-12 + 2 * hidden(300, 2, 1e-12, 2), "50 keys of a person stay hidden, each but for δ = 10^-12"
        ),
        "test_T24_a_rare_key_appears_nowhere_also_when_the_engine_fails": Chance(
            3 * (2e-12 + hidden(100, 2, 1e-12, 2) + hidden(100, 1, 1e-12, 2)), "a key of 100 people is shown"
        ),
        "test_T27_a_recorded_answer_needs_no_table": ALIKE,
        "test_T27_a_repeated_question_is_free_also_when_its_keys_are_declared": Chance(
            hidden(200, 2, 1e-8, 2), "a key of 200 people is shown"
        ),
        "test_a_key_that_was_found_has_somebody": never("the noisy counts are replaced"),
        "test_every_type_of_key_can_be_written_as_toml": Chance(
            9 * hidden(100, 1, 1e-8, 1), "nine keys of 100 rows are shown"
        ),
        "test_nothing_found_is_said_and_cannot_be_declared": Chance(
            2 * 1e-12, "two keys of a person stay hidden, but for δ = 10^-12"
        ),
        "test_what_was_found_can_be_declared_in_python_and_in_a_file": Chance(SHOWN, "δ = 10^-8"),
        "test_what_was_found_is_told_in_every_form": Chance(SHOWN, "δ = 10^-8"),
        "test_without_delta_it_is_refused_with_advice": Chance(SHOWN, "δ = 10^-8"),
    },
    "tests/claims/test_engine.py": {
        "test_T10_T19_every_public_key_in_its_public_order_whatever_the_data": FORM,
        "test_T14_one_outlier_counts_as_the_bound": Chance(far(190), "off by 0.2, at scale 0.001"),
    },
    "tests/claims/test_estimate.py": {
        "test_A10_the_bar_holds_exactly_where_the_noise_is_within_its_margin": Chance(
            10 * 12_000 * far(1000), "true of all noise that is below a thousand, at scale 1"
        ),
        "test_R1_T31_counts": laws("bars of counts", "bars of combined counts"),
        "test_R1_T31_sums_means_and_proportions": laws(
            "bars of sums", "bars of means", "bars of means beside a variance", "bars of proportions"
        ),
        "test_R1_T33_all_groups_at_once": laws("bars of 1,000 groups at once"),
        "test_T30_the_unbiased_view_is_the_default_and_the_other_is_labelled": Chance(
            (1 - above(1, 10)) ** 1999, "one of 1,999 empty groups is below 0"
        ),
    },
    "tests/claims/test_ledger.py": {
        "test_L1_T25_sixteen_processes_are_granted_exactly_the_total": NO_NOISE,
        "test_L1_T25_processes_that_make_one_ledger_at_once_spend_one_budget": NO_NOISE,
        "test_L2_T27_many_who_ask_the_same_at_once_get_one_answer_for_one_charge": NO_NOISE,
        "test_L3_T26_kill_at_random_moments_never_unspends_sqlite": TRIED,
        "test_L3_kill_at_random_moments_never_unspends_postgresql": TRIED,
        "test_L5_a_source_remembers_too": CHARGES,
        "test_L4_a_flipped_byte_is_found_or_changes_nothing": TRIED,
        "test_L4_every_deletion_insertion_and_exchange_is_found": never("draws the names of files"),
        "test_L4_every_edit_of_a_stored_value_is_found": never("draws the names of files"),
    },
    "tests/claims/test_mechanism.py": {
        "test_M2_real_floats_follow_the_law_of_the_grid": laws("floats on the grid"),
        "test_M3_real_flips_have_their_share": laws("randomized response"),
        "test_T1_all_outputs_lie_on_one_public_grid": TRUE_OF_ALL,
        "test_T20_cells_get_independent_noise": laws("independent cells"),
        "test_T2_minus_zero_never_comes_out": TRUE_OF_ALL,
        "test_T5_sums_beyond_int64_stay_at_its_ends": Chance(41 * beyond(2**61, 1000), "noise of 2^61, at scale 1,000"),
    },
    "tests/claims/test_noise.py": {
        "test_N1_over_all_20_bit_beginnings_every_value_has_its_exact_share": TRUE_OF_ALL,
        "test_N1_real_draws_follow_the_law": laws(
            "integers at scale 10",
            "integers at scale 10 in two threads",
            "integers at scale 1/3",
            "integers one at a time",
        ),
        "test_N1_single_draws_and_arrays_are_the_same_function_of_the_bits": TRIED,
        "test_N1_the_statistical_check_rejects_a_wrong_scale": laws(
            "a scale 4 % too small is rejected", "a scale 4 % too large is rejected"
        ),
        "test_N2_every_prefix_is_decided_rightly_by_both_fast_paths": Chance(
            26 * 40_000 * 2.0**-120, "no border of a value agrees with the 128 bits behind a word"
        ),
        "test_N2_the_platform_log_errs_by_less_than_4_units_in_the_last_place": TRIED,
        "test_N3_real_split_draws_follow_the_law": laws("split integers at scale 2^40", "split integers one at a time"),
        "test_N4_coins_fall_on_heads_exactly_below_e_to_the_minus_gamma": TRIED,
        "test_N4_real_coins_have_their_probability": laws("coins"),
        "test_N4_whole_exponents_with_a_unit_are_the_same_coins": TRIED,
        "test_N5_real_uniform_draws_are_uniform": laws("uniform array"),
        "test_N6_blocks_and_kinds_of_exponents_make_no_difference": Chance(
            200 * 30**2 * 2.0**-63, "no two words are the same"
        ),
        "test_N6_near_ties_are_decided_rightly_and_some_of_them_slowly": TRIED,
        "test_N6_random_words_are_decided_rightly": TRIED,
        "test_N6_real_races_follow_the_law_of_permute_and_flip": laws(
            "race of runs", "race of single candidates", "a race with a unit 20 % too large is rejected"
        ),
        "test_N6_runs_without_candidates_never_win": TRUE_OF_ALL,
        "test_N6_the_error_bound_holds_for_every_continuation_of_the_word": Chance(
            8 * (many(150, 10, 0.001) + many(150, 90, 8 / 55)),
            "a word is too short to tell with less than 0.001, and too near to 2^63 with less than 8/55",
        ),
        "test_N6_the_highest_exponential_has_the_law_of_permute_and_flip": TRIED,
        "test_N6_the_platform_functions_err_by_less_than_4_units_in_the_last_place": TRIED,
        "test_N6_the_slow_path_knows_how_far_it_has_rounded": TRIED,
    },
    "tests/claims/test_release.py": {
        "test_R2_T12_the_number_of_rows_is_recorded_only_where_it_is_public": FORM,
        "test_R2_T20_every_cell_has_noise_of_its_own_and_of_the_right_law": laws(
            "noise of a release", "neighboring cells of a release"
        ),
        "test_R2_T20_noise_beyond_what_arrays_hold_is_noise_too": Chance(
            36 * likeliest(2**50) + 0.011**9, "nine different numbers, not all below a hundredth of the scale"
        ),
        "test_R2_charge_aggregate_record_show_in_this_order": CHARGES,
        "test_T20_a_million_empty_cells": Chance(
            17 * (1 - likeliest(1) * math.exp(-8)) ** 10**6 + 2 * hoeffding(10**6, 0.057),
            "each number from -8 to 8 is drawn, and 0 in its share of cells",
        ),
        "test_T24_a_canary_appears_nowhere": TEXTS,
        "test_T24_a_canary_appears_nowhere_when_the_engine_fails": TEXTS,
        "test_T25_many_threads_spend_exactly_the_total": CHARGES,
        "test_T27_a_recorded_answer_needs_no_table": ALIKE,
        "test_T27_a_table_in_which_rows_may_be_left_out_is_another_question": CHARGES,
        "test_T27_another_split_is_another_question": CHARGES,
        "test_T27_other_bounds_versions_or_people_are_another_question": CHARGES,
        "test_T27_the_declaration_of_the_person_column_is_part_of_the_question": CHARGES,
        "test_T27_the_order_of_the_statistics_does_not_mix_up_their_answers": never("a mean is cut at its bounds"),
        "test_T27_the_same_question_in_other_words_is_free": CHARGES,
        "test_T27_two_who_ask_the_same_at_once_get_the_same_answer": CHARGES,
        "test_T8_T24_broken_lines_of_a_csv_are_never_an_error": FORM,
        "test_T8_odd_objects_in_a_frame_are_never_an_error": FORM,
        "test_a_table_larger_than_the_memory_it_may_use_is_spilled": Chance(
            summed(9_000, 1, 1, 1), "twelve million, off by 9,000 at scale 1"
        ),
        "test_an_end_from_outside_ends_the_query_and_removes_what_was_spilled": NO_NOISE,
        "test_explain_reads_back_whatever_was_accepted": ALIKE,
        "test_nothing_is_left_in_the_temporary_folder": CHARGES,
    },
    "tests/claims/test_selection.py": {
        "test_Q5_bars_hold_the_quantile": laws(
            "bars of quantiles of incomes",
            "bars of quantiles of ages",
            "bars of quantiles of many zeros",
            "bars of quantiles of all equal",
            "bars of quantiles of few",
        ),
    },
    "tests/claims/test_weighted_quantiles.py": {
        "test_W3_bars_hold_the_weighted_quantile": laws("bars of weighted quantiles"),
    },
    "tests/claims/test_timing.py": {
        "test_C3_times_that_drift_but_do_not_depend_on_the_noise_raise_no_alarm": Chance(
            8 * FINDING, "claim C3, eight findings"
        ),
    },
    "tests/claims/test_tree.py": {
        "test_D2_the_estimate_is_that_of_least_squares": TRIED,
        "test_D3_the_bars_of_cumulative_counts_hold": laws("bars of cumulative counts"),
        "test_D4_the_bars_of_shares_hold": laws("bars of shares"),
    },
    "tests/engines/test_postgres.py": {
        "test_E2_texts_are_equal_only_byte_by_byte_whatever_their_collation": Chance(
            5 * (7 * far(0.5 * 75) + 4 * far(75)), "counts off by a half, and keys by 1, at scale 1/75"
        ),
        "test_T24_a_connection_that_is_ended_completes_later_at_no_charge": CHARGES,
        "test_T24_a_person_that_is_also_asked_about_cannot_fail": Chance(3 * far(50), "off by a half, at scale 1/100"),
        "test_T24_a_secret_is_asked_for_and_told_nowhere": TEXTS,
        "test_T24_a_table_that_is_locked_is_charged_nothing": CHARGES,
        "test_T24_what_a_function_says_is_told_nowhere": TEXTS,
        "test_T24_what_fails_while_it_is_read_completes_later_at_no_charge": CHARGES,
        "test_a_foreign_table_is_a_table": Chance(FOUR_COUNTS, "four counts, of three cells at scale 1/75"),
        "test_a_view_is_enough": Chance(FOUR_COUNTS, "four counts, of three cells at scale 1/75"),
        "test_columns_whose_names_differ_only_at_their_end": Chance(3 * beyond(1, 1 / 30), "off by 1, at scale 1/30"),
        "test_every_type_is_read_as_declared_or_refused_before_the_charge": CHARGES,
        "test_init_plan_and_release_from_the_command_line": TEXTS,
        "test_least_privilege_is_enough": Chance(FOUR_COUNTS, "four counts, of three cells at scale 1/75"),
        "test_nothing_is_made_and_nothing_stays_open": CHARGES,
        "test_policies_of_rows_hold": Chance(4 * far(25), "four counts off by a half, at scale 1/50"),
        "test_tables_schemas_and_columns_of_any_name": Chance(
            16 * 4 * summed(0.5, *[1 / 450] * 3), "off by a half, of three cells at scale 1/450"
        ),
        "test_the_environment_of_libpq_counts": Chance(far(25), "off by a half, at scale 1/50"),
        "test_whatever_can_be_selected_from_is_a_table": Chance(
            5 * summed(0.5, *[1 / 225] * 3), "off by a half, of three cells at scale 1/225"
        ),
    },
    "tests/engines/test_same_integers.py": {
        "test_a_whole_release_on_every_engine": Chance(
            3 * (3 * summed(5, *[0.04] * 3) + 7 * far(100)), "three counts off by 5, of three cells at scale 1/25"
        ),
    },
    "tests/engines/test_spark.py": {
        "test_T24_a_view_that_fails_on_a_cell_tells_nothing_and_the_question_completes_later": Chance(
            3 * 2 * far(80), "the mean of nine rows is off by 0.5 of 10, at scale 1/400"
        ),
        "test_T24_files_that_are_gone_tell_nothing_and_the_question_completes_later": Chance(
            beyond(1, 1 / 100), "off by 1, at scale 1/100"
        ),
        "test_a_killed_server_is_one_error": Chance(summed(0.5, *[0.01] * 3), "of three cells at scale 1/100"),
        "test_a_release_does_not_need_the_status_of_its_jobs": Chance(
            summed(0.5, *[0.01] * 3), "off by a half, of three cells at scale 1/100"
        ),
        "test_a_session_that_is_stopped_in_mid_query_leaves_a_question_that_completes": Chance(
            summed(0.5, *[0.01] * 3), "off by a half, of three cells at scale 1/100"
        ),
        "test_an_interrupt_or_a_fault_of_progress_cancels_the_query": Chance(
            2 * summed(0.5, *[0.01] * 3), "off by a half, of three cells at scale 1/100"
        ),
        "test_executors_that_are_killed_again_and_again_are_one_error_and_the_question_completes": Chance(
            summed(0.5, *[0.01] * 3), "off by a half, of three cells at scale 1/100"
        ),
        "test_progress_is_a_share_that_does_not_fall": CHARGES,
        "test_texts_of_fixed_length_are_read_as_spark_stores_them": Chance(beyond(1, 1 / 100), "at scale 1/100"),
        "test_what_users_make_spark_say_is_still_logged": TEXTS,
    },
    "tests/unit/auditing/test_audit.py": {
        "test_a_process_that_ends_early_fails_its_check_and_stops_the_audit": never("what is drawn is not looked at"),
        "test_checks_run_at_once_in_processes_of_their_own_and_those_that_measure_time_alone": Chance(
            8 * FINDING, "claim C3: eight findings of timing, and replay, which is exact"
        ),
        "test_the_build_passes_a_quick_check": Chance(4 * FINDING, "claim C4: three findings, and noise that is fresh"),
    },
    "tests/unit/auditing/checks/test_bound.py": {
        "test_real_releases_show_no_more_than_the_epsilon_that_is_charged_and_no_less": Chance(
            11 * FINDING, "claim C1, eleven findings"
        ),
    },
    "tests/unit/auditing/checks/test_bare.py": {
        "test_T24_values_that_are_refused_are_not_shown_on_this_build": never(
            "all commands are refused before they draw"
        ),
    },
    "tests/unit/auditing/checks/test_canary.py": {
        "test_T24_keys_below_the_threshold_that_are_recorded_are_seen_in_the_ledger": never("all keys are recorded"),
        "test_T24_no_canary_is_seen_on_this_build": Chance(1e-12, "keys of a person stay hidden, but for δ = 10^-12"),
    },
    "tests/unit/auditing/checks/test_coverage.py": {
        "test_all_bars_hold_in_a_reduced_form": Chance(1e-8, "claim C4: the test asserts this sum of its findings"),
        "test_bars_and_values_are_counted": never("the noise is multiplied by 0"),
        "test_bars_of_counts_a_tenth_too_narrow_are_found": WIDTHS,
        "test_bars_of_counts_one_too_wide_are_found": WIDTHS,
    },
    "tests/unit/auditing/checks/test_failures.py": {
        "test_ledgers_on_a_server_hold_too": NO_NOISE,
    },
    "tests/unit/auditing/test_served.py": {
        "test_a_server_is_asked_also_where_an_event_loop_runs_as_in_notebooks": CHARGES,
    },
    "tests/unit/auditing/checks/test_doors.py": {
        "test_every_door_is_the_same_on_this_build": ALIKE,
    },
    "tests/unit/auditing/checks/test_decisions.py": {
        "test_a_statement_that_was_not_tried_is_found": never("what is drawn is not looked at"),
        "test_draws_are_what_their_bits_say": never("what is drawn is not looked at"),
    },
    "tests/unit/auditing/checks/test_keystream.py": {
        "test_a_key_of_fewer_bits_or_of_another_origin_is_found": never("the check serves the bytes, or sees none"),
        "test_a_key_that_is_made_once_is_found": never("one key has the same first words each time"),
        "test_a_stream_that_is_not_the_cipher_is_found": never("the check serves the bytes"),
        "test_single_bits_that_do_not_matter_are_found": never("the check serves the bytes"),
        "test_the_keystream_is_as_promised": Chance(1e-10, "claim C4: the test asserts this sum of its findings"),
        "test_the_system_is_itself_again_afterwards": Chance(2 * 2.0**-64, "two draws of 64 bits agree"),
    },
    "tests/unit/ledger/test_requests.py": {"test_T25_of_owners_who_grant_at_once_one_does": NO_NOISE},
    "tests/unit/auditing/checks/test_ledgers.py": {
        "test_L1_to_L5_hold_on_this_build": Chance(
            3 * (likeliest(2 / 0.02) ** 3 * likeliest(1 / 0.02) ** 3),
            "three answers are different: of three counts and three sums, at ε of 0.02 and less",
        ),
        "test_L3_a_charge_after_reading_is_found": CHARGES,
        "test_the_user_s_own_folder_is_not_touched": CHARGES,
        "test_T26_a_cached_balance_is_found": CHARGES,
        "test_T26_a_ledger_that_forgets_the_last_charge_is_found_after_a_kill": TRIED,
        "test_a_process_that_ends_early_is_said": NO_NOISE,
        "test_other_processes_import_this_lapwing_wherever_they_work": NO_NOISE,
    },
    "tests/unit/auditing/test_mechanisms.py": {
        "test_any_output_is_read_with_few_draws_too": TRUE_OF_ALL,
        "test_the_laplace_mechanism_holds": Chance(4 * 1e-9, "claim C1, at the confidence that is asked for"),
    },
    "tests/unit/auditing/test_mutants.py": {
        "test_a_quick_fault_is_flagged": never("these faults show in numbers that are given, and not drawn"),
        "test_the_build_as_it_is_is_not_flagged": Chance(4 * FINDING, "claim C4, as for the quick check"),
    },
    "tests/unit/auditing/checks/test_timing.py": {
        "test_the_time_of_the_samplers_tells_nothing_of_the_noise": Chance(
            4 * FINDING + 4 * bernstein(0.05 * 20_000 / 12, 20_000 / 144, 1 / 4),
            "claim C3 for zeros; sizes may correlate by 0.03 with the time that Python takes, and not by 0.08",
        ),
    },
    "tests/unit/cli/test_main.py": {
        "test_a_table_shows_the_digits_that_the_error_bar_leaves_meaning_to": Chance(
            far(24) + far(300), "off by 0.25 at scale 0.01, and by 3,213,000 at scale 9,999"
        ),
        "test_noise_as_json": FORM,
        "test_noise_draws_integers": FORM,
        "test_noise_on_values_keeps_whole_numbers_whole": WIDTHS,
        "test_noise_prints_a_table_and_never_the_value": Chance(
            100 * likeliest(10**15), "the digits of the value are in less than 100 numbers near it, at scale 10^15"
        ),
        "test_python_dash_m_is_the_command": NO_NOISE,
    },
    "tests/unit/test_gallery.py": {
        "test_a_notebook_runs_and_has_the_same_kinds_of_outputs_as_the_kept_one": never(
            "compares the kinds of outputs, which no noise changes"
        ),
    },
    "tests/unit/cli/test_demo.py": {
        "test_exact_averages_give_charles_away_and_noisy_ones_do_not": never("asserts the exact averages alone"),
        "test_noise_on_a_grid_rules_out_nothing": TRUE_OF_ALL,
        "test_on_a_terminal_there_are_frames_and_pauses_and_narrow_ones_hold_all_cells": Chance(
            3 * 4 * far(100), "a number is so large that a table is wider than 80 columns"
        ),
        "test_the_demo_tells_the_story": Chance(2 * far(100), "a ward of thousands is below 0, at scale 10"),
        "test_the_excerpt_in_the_readme_is_what_the_demo_prints": Chance(
            3 * far(100), "a ward of thousands is below 0, at scale 10"
        ),
    },
    "tests/unit/cli/test_discover.py": {
        "test_a_name_for_others_that_was_found_is_not_taken_and_the_answer_is_shown": Chance(SHOWN, "δ = 10^-8"),
        "test_discover_prints_keys_and_the_lines_to_paste": Chance(SHOWN, "δ = 10^-8"),
        "test_discover_with_a_condition_and_few_keys": never("no row fulfils the condition, so that there is no key"),
        "test_explain_refuses_when_the_source_has_changed": Chance(hidden(600, 2, 1e-8, 2), "600 people have a key"),
        "test_the_total_delta_can_be_set_for_a_ledger_that_exists": CHARGES,
    },
    "tests/unit/cli/test_table.py": {
        "test_a_full_disk_is_told_and_not_traced": NO_NOISE,
        "test_an_analyst_has_a_cap": CHARGES,
        "test_an_output_of_an_unknown_kind_is_refused_before_anything_is_charged": TEXTS,
        "test_explain_remembers_how_epsilon_was_split": ALIKE,
        "test_explain_tells_the_whole_way": TEXTS,
        "test_init_then_plan": WIDTHS,
        "test_output_never_replaces_what_is_precious": TEXTS,
        "test_plan_tells_what_is_left": CHARGES,
        "test_release_in_every_format": ALIKE,
        "test_weights_split_epsilon": CHARGES,
    },
    "tests/unit/noise/test_entropy.py": {
        "test_T21_a_forked_child_draws_other_noise": Chance(3 * likeliest(2**49) ** 4, "runs of four are different"),
        "test_T21_a_pickled_mechanism_draws_other_noise": Chance(10 * likeliest(2**49), "five draws are different"),
        "test_T21_every_call_has_a_key_of_its_own": Chance(
            1225 * (likeliest(2**49) ** 4 + 2.0**-64), "50 runs of four are different, and 50 words"
        ),
        "test_T21_threads_do_not_share_noise": Chance(126 * likeliest(2**49) ** 4, "runs of four are different"),
        "test_T22_numpy_seeds_have_no_effect": Chance(likeliest(2**49) ** 4, "runs of four are different"),
        "test_bits_are_as_many_as_asked": TRUE_OF_ALL,
    },
    "tests/unit/release/test_arrow.py": {
        "test_neither_the_import_nor_the_stream_needs_pyarrow": never("names of columns, and a number minus itself"),
    },
    "tests/unit/release/test_new_ledger.py": {
        "test_an_answer_that_began_the_ledger_says_so_once": TEXTS,
        "test_a_page_that_is_published_does_not_say_where_the_ledger_is": TEXTS,
        "test_a_command_says_it_on_standard_error": TEXTS,
        "test_a_command_that_fails_says_it_too": TEXTS,
    },
    "tests/unit/release/test_large.py": {
        "test_a_failure_leaves_what_was_there": FORM,
        "test_a_folder_gets_its_parts_if_it_is_empty": ALIKE,
        "test_a_full_disk_leaves_nothing_half_written": Chance(
            2.0**-1000, "a part holds 21,000 numbers of scale 10^4, of which files of 20,000 bytes cannot be made"
        ),
        "test_a_large_answer_is_recalled_as_it_was_and_a_small_one_reads_as_before": ALIKE,
        "test_a_large_scale_tells_its_progress_while_noise_is_added": FORM,
        "test_a_link_is_followed_and_a_device_is_written_to": ALIKE,
        "test_a_sum_that_int64_cannot_hold_is_shown_as_a_float_in_all_pieces": WIDTHS,
        "test_memory_does_not_hold_a_python_object_for_each_group": Chance(
            500_000 * beyond(2**15 - 10, 1), "every count fits into two bytes"
        ),
        "test_pieces_are_the_whole": ALIKE,
        "test_the_command_shows_its_progress_on_a_terminal": ALIKE,
        "test_the_command_writes_parts_to_a_folder": ALIKE,
        "test_types_in_parquet_are_those_of_the_keys": FORM,
    },
    "tests/unit/noise/test_mechanism.py": {
        "test_T24_the_caller_s_numpy_error_state_makes_no_error": TRUE_OF_ALL,
        "test_T5_lists_of_large_ints_stay_ints": Chance(4 * beyond(2**61, 1), "noise of 2^61, at scale 1"),
        "test_a_whole_value_whose_sensitivity_is_below_one_is_refused": FORM,
        "test_arrays_keep_their_shape": FORM,
        "test_noise_lands_on_the_right_cells": Chance(
            likeliest(12 * 2**10 / 1000) ** 12 + 24 * far(1000),
            "of 12 floats one has noise, on a grid of 12·2^10 steps; none of 1, at scale 0.001",
        ),
        "test_randomized_response_keeps_the_shape_and_takes_only_bits": FORM,
        "test_scalars_stay_python_numbers_of_their_kind": FORM,
        "test_the_value_given_is_not_changed": never("asserts the input"),
    },
    "tests/unit/noise/test_sampler.py": {
        "test_a_single_draw_is_a_python_int": FORM,
        "test_an_array_has_the_size_asked_for": FORM,
        "test_arrays_take_scales_that_int64_can_hold": FORM,
        "test_coins_of_no_exponents_are_none": never("coins of probability 1, 1 and e^(-10^9)"),
        "test_memory_beyond_the_output_is_a_few_blocks": never("memory that does not depend on the numbers"),
        "test_memory_of_float_releases_is_the_output_and_a_few_blocks": never(
            "memory that does not depend on the numbers"
        ),
        "test_threads_fill_every_cell": Chance(
            many(800_000, 10, 800_000 * likeliest(2**49)), "ten of 800,000 numbers were drawn before, at scale 2^49"
        ),
        "test_uniform_refuses_what_is_no_range": TRUE_OF_ALL,
    },
    "tests/unit/test_package.py": {
        "test_importing_is_light_and_brings_no_engine": NO_NOISE,
        "test_what_is_built_works_without_development_packages": TEXTS,
    },
    "tests/unit/test_bench.py": {
        "test_the_benchmark_of_the_server_asks_and_charges": CHARGES,
    },
    "tests/unit/test_site.py": {
        "test_the_site_is_built_without_warnings_dead_links_or_other_hosts": NO_NOISE,
        "test_the_site_built_is_searched_in_a_browser_without_a_server": NO_NOISE,
    },
    "tests/unit/ledger/test_backup.py": {
        "test_backups_taken_while_another_process_charges_are_sound": NO_NOISE,
    },
    "tests/unit/ledger/test_existing.py": {
        "test_L1_a_command_that_reads_makes_no_ledger_in_place_of_a_lost_one": CHARGES,
        "test_the_backup_of_a_lost_ledger_is_put_back_after_a_command_that_reads": CHARGES,
        "test_a_postgresql_ledger_is_not_made_by_what_reads": CHARGES,
        "test_a_command_in_a_process_of_its_own_has_status_2": NO_NOISE,
    },
    "tests/unit/ledger/test_place.py": {
        "test_T26_a_file_has_one_budget_whatever_the_working_directory": CHARGES,
        "test_T26_a_frame_has_one_budget_whatever_the_working_directory": CHARGES,
        "test_a_folder_that_sounds_like_a_server_is_a_folder": CHARGES,
        "test_a_ledger_in_its_place_is_used_whatever_lies_in_the_working_directory": CHARGES,
        "test_a_ledger_that_is_named_is_where_it_is_named": CHARGES,
        "test_other_names_stay_in_the_folder": CHARGES,
        "test_the_folder_of_the_user_is_made_with_the_first_ledger_and_for_nobody_else": CHARGES,
    },
    "tests/unit/measure/test_quantiles.py": {
        "test_T12_what_is_recorded_has_the_same_shape_whatever_the_rows": FORM,
        "test_T24_a_canary_in_a_column_of_quantiles_is_seen_nowhere": TEXTS,
        "test_a_distribution_function_is_plotted_as_a_curve_and_a_quantile_without_zero": FORM,
        "test_bars_stay_between_the_bounds_and_hold_their_value": TRUE_OF_ALL,
        "test_bars_widen_with_confidence_and_cost_nothing": TRUE_OF_ALL,
        "test_degenerate_inputs_get_an_answer_of_the_public_shape": TRUE_OF_ALL,
        "test_every_form_of_table_gives_the_same_quantiles": Chance(
            9 * 5 * 1000 * far(50 * 10), "a value 50 rows from the quantile wins a race in which a row counts as 10"
        ),
        "test_every_limit_of_a_distribution_function_is_between_the_bounds": Chance(
            3 * beyond(3, 1 / 10), "a bin off by 3 of 2,000 rows, at scale 1/10 and less"
        ),
        "test_large_epsilon_gives_the_quantiles_themselves": Chance(
            2 * 5 * 1000 * far(50 * 50), "a value 50 rows from the quantile wins a race in which a row counts as 50"
        ),
        "test_messages_tell_what_to_do": TEXTS,
        "test_the_order_and_the_names_of_the_question_do_not_matter": ALIKE,
        "test_too_many_quantiles_are_refused_and_long_work_tells_its_progress": FORM,
        "test_with_and_without_intervals_are_two_questions": ALIKE,
    },
    "tests/unit/client/test_sign_in.py": {
        "test_a_terminal_signs_in_with_a_real_provider_asks_and_signs_out": NO_NOISE,
    },
    "tests/unit/server/test_api.py": {
        "test_no_request_gets_an_answer_that_the_document_does_not_have": TRIED,
    },
    "tests/unit/server/test_killed.py": {
        "test_T26_a_server_that_is_killed_at_random_moments_loses_nothing_and_charges_nothing_twice": TRIED,
    },
    "tests/unit/server/test_load.py": {
        "test_T25_many_clients_are_charged_exactly_and_see_only_what_is_recorded": CHARGES,
    },
    "tests/unit/server/test_process.py": {
        "test_a_server_from_its_start_to_its_end": CHARGES,
        "test_a_server_that_is_killed_loses_no_charge_and_goes_on_with_its_jobs": CHARGES,
        "test_T56_a_signal_in_the_middle_of_a_charge_leaves_one_charge_one_answer_and_status_0": CHARGES,
        "test_T56_a_client_or_proxy_that_hangs_up_in_the_middle_of_a_charge_leaves_one_charge_and_one_answer": CHARGES,
        "test_a_server_started_by_nohup_stays_when_its_terminal_is_closed": NO_NOISE,
        "test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_read": NO_NOISE,
        "test_what_is_no_request_leaves_one_line_of_json_in_the_log": NO_NOISE,
        "test_tls_is_verified": NO_NOISE,
    },
    "tests/unit/server/test_deploy.py": {
        "test_an_analyst_asks_through_the_proxy": CHARGES,
        "test_systemd_accepts_the_unit_and_finds_it_confined": NO_NOISE,
        "test_the_health_check_asks_by_the_name_that_the_server_answers_to": NO_NOISE,
        "test_the_proxy_takes_tables_of_makers_and_nothing_else_that_is_large": NO_NOISE,
        "test_the_proxy_ends_what_is_slow_or_called_by_another_name": NO_NOISE,
    },
    "tests/unit/server/test_r.py": {
        "test_r_asks_a_real_server": CHARGES,
        "test_the_r_of_the_pages_runs": FORM,
        "test_r_finds_nothing_wrong_with_the_package": CHARGES,
        "test_what_needs_no_server": NO_NOISE,
    },
    "tests/unit/server/test_tokens.py": {
        "test_a_token_has_256_random_bits_and_one_form": Chance(
            256 * 2 * 0.5**100 + 100**2 * 0.5**256, "one of 256 bits is the same in 100 tokens, or two are equal"
        ),
    },
    "tests/unit/test_source.py": {
        "test_a_number_may_have_bounds_and_keys": Chance(
            16 * beyond(1, 1 / 500) + beyond(1, 16 / 500), "no noise at ε = 500"
        ),
        "test_a_source_file_and_its_ledger_beside_it": FORM,
        "test_bars_are_never_inside_out": TRUE_OF_ALL,
        "test_bins_that_hold_what_lies_beyond_their_edges_say_so": Chance(
            2 * beyond(1, 1 / 500), "no noise at ε = 500"
        ),
        "test_confidences_beyond_what_bars_are_computed_for_are_refused": CHARGES,
        "test_every_way_out_of_a_release_holds_the_same_numbers": ALIKE,
        "test_init_writes_a_file_that_works_once_it_is_filled_in": FORM,
        "test_keys_of_every_type": Chance(8 * beyond(1, 1 / 250), "no noise at ε = 250"),
        "test_sums_beyond_whole_numbers_are_floats_and_not_cut": Chance(2 * far(90), "off by 90 scales"),
        "test_the_same_numbers_at_another_confidence_cost_nothing": WIDTHS,
        "test_the_total_of_the_ledger_can_be_changed_in_either_order": CHARGES,
        "test_the_weights_of_seed_001": never("a mean is cut at its bounds, and the count is public"),
        "test_weights_split_epsilon": CHARGES,
        "test_what_would_overflow_is_refused_before_the_charge_or_cut_after_the_noise": TRUE_OF_ALL,
    },
}

CHANCES = {f"{file}::{name}": chance for file, tests in _BY_FILE.items() for name, chance in tests.items()}
"""The chance of each test by its id, without parameters."""
