"""The tests that `make quick` leaves out, and those that `make test` leaves to `make long`, in one place.

No test file says how long its tests take.

An entry is the beginning of a test's id: a folder, a file or a test with all of its parameters.  What needs a server of
PostgreSQL is slow too, wherever it is.  `make quick` ends with the tests that took longest; those of more than a second
belong here.
"""

from __future__ import annotations

SLOW = (
    "tests/engines/",
    "tests/unit/auditing/",
    "tests/unit/engine/test_formats.py",
    "tests/unit/release/test_large.py",
    "tests/claims/test_rows_per_person.py::test_K5_one_person_moves_the_histogram_by_at_most_the_sensitivity",
    "tests/claims/test_bounds.py::test_K4_every_value_lies_in_the_bin_that_its_ends_say",
    "tests/claims/test_bounds.py::test_K4_one_person_moves_the_histogram_by_at_most_the_sensitivity",
    "tests/claims/test_bounds.py::test_a_bound_inside_a_bin_leaves_the_bin_open",
    "tests/claims/test_bounds.py::test_the_share_beyond_declared_bounds_holds_at_borders_and_far_out",
    "tests/claims/test_checks.py::test_C1_the_bound_is_above_the_true_epsilon_with_probability_at_most_alpha_exactly",
    "tests/claims/test_checks.py::test_C1_the_ends_are_those_of_the_beta_law_and_on_their_safe_side",
    "tests/claims/test_checks.py::test_C2_evenly_laid_out_words_have_the_law_up_to_one_part_for_every_number_of_them",
    "tests/claims/test_discover.py::test_K3_a_person_moves_at_most_l_counts_by_one_each",
    "tests/claims/test_discover.py::test_K3_every_form_of_table_gives_the_same_counts",
    "tests/claims/test_discover.py::test_T24_a_rare_key_appears_nowhere_also_when_the_engine_fails",
    "tests/claims/test_discover.py::test_T27_a_repeated_question_is_free_also_when_its_keys_are_declared",
    "tests/claims/test_discover.py::test_every_type_of_key_can_be_written_as_toml",
    "tests/claims/test_engine.py::test_E1_T7_nan_in_a_parquet_file_whose_statistics_leave_it_out",
    "tests/claims/test_engine.py::test_E2_E3_the_engine_agrees_with_python_on_dirty_tables",
    "tests/claims/test_engine.py::test_E3_T3_T4_the_same_integers_in_every_form_order_and_number_of_threads",
    "tests/claims/test_engine.py::test_E3_a_limit_of_memory_changes_no_integer",
    "tests/claims/test_estimate.py::test_A9_a_larger_scale_gives_a_larger_margin",
    "tests/claims/test_estimate.py::test_R1_T31_sums_means_and_proportions",
    "tests/claims/test_ledger.py::test_L1_T25_processes_that_make_one_ledger_at_once_spend_one_budget",
    "tests/claims/test_ledger.py::test_L1_T25_sixteen_processes_are_granted_exactly_the_total",
    "tests/claims/test_ledger.py::test_L1_threads_are_granted_exactly_the_total",
    "tests/claims/test_ledger.py::test_L2_T27_many_who_ask_the_same_at_once_get_one_answer_for_one_charge",
    "tests/claims/test_ledger.py::test_L3_T26_kill_at_random_moments_never_unspends_sqlite",
    "tests/claims/test_ledger.py::test_L3_kill_at_every_single_step_of_making_leaves_a_whole_ledger_or_none",
    "tests/claims/test_ledger.py::test_L3_kill_at_random_moments_never_unspends_postgresql",
    "tests/claims/test_ledger.py::test_L3_kill_before_every_single_step_leaves_a_charge_that_can_be_completed",
    "tests/claims/test_ledger.py::test_L4_a_flipped_byte_is_found_or_changes_nothing",
    "tests/claims/test_ledger.py::test_L4_every_edit_of_a_stored_value_is_found",
    "tests/claims/test_ledger.py::test_L5_T26_no_call_takes_an_older_copy_for_the_ledger",
    "tests/claims/test_ledger.py::test_L5_threads_that_go_on_together_are_not_refused",
    "tests/claims/test_measure.py::test_P1_P4_no_person_moves_the_cells_by_more_than_declared",
    "tests/claims/test_mechanism.py::test_M1_vectors_are_protected_by_their_norm",
    "tests/claims/test_names.py::test_E0_the_declared_column_is_read_or_the_table_is_refused",
    "tests/claims/test_noise.py::test_N1_over_all_20_bit_beginnings_every_value_has_its_exact_share",
    "tests/claims/test_noise.py::test_N2_every_prefix_is_decided_rightly_by_both_fast_paths",
    "tests/claims/test_noise.py::test_N2_the_platform_log_errs_by_less_than_4_units_in_the_last_place",
    "tests/claims/test_noise.py::test_N3_real_split_draws_follow_the_law",
    "tests/claims/test_noise.py::test_N6_near_ties_are_decided_rightly_and_some_of_them_slowly",
    "tests/claims/test_noise.py::test_N6_real_races_follow_the_law_of_permute_and_flip",
    "tests/claims/test_noise.py::test_N6_the_ends_of_the_words_are_decided_rightly",
    "tests/claims/test_noise.py::test_N6_the_error_bound_holds_for_every_continuation_of_the_word",
    "tests/claims/test_noise.py::test_N6_the_platform_functions_err_by_less_than_4_units_in_the_last_place",
    "tests/claims/test_reading.py::test_E0_a_frame_that_runs_backward_is_read",
    "tests/claims/test_reading.py::test_E0_an_object_counts_as_the_value_of_its_base_and_its_own_methods_are_not_called",
    "tests/claims/test_reading.py::test_E0_nanoseconds_are_of_their_day",
    "tests/claims/test_reading.py::test_E0_numbers_of_many_digits_are_the_nearest_float",
    "tests/claims/test_reading.py::test_E0_one_odd_cell_changes_no_other_in_pandas",
    "tests/claims/test_reading.py::test_E0_one_odd_cell_changes_no_other_in_polars_and_arrow",
    "tests/claims/test_reading.py::test_E0_one_odd_person_makes_no_others_one_or_two",
    "tests/claims/test_reading.py::test_E0_texts_in_a_frame_in_a_file_and_in_a_relation_are_read_alike",
    "tests/claims/test_reading.py::test_E0_what_was_seen_moves_no_more_than_declared",
    "tests/claims/test_release.py::test_T20_a_million_empty_cells",
    "tests/claims/test_release.py::test_T24_a_canary_appears_nowhere",
    "tests/claims/test_release.py::test_T24_a_canary_appears_nowhere_when_the_engine_fails",
    "tests/claims/test_release.py::test_T25_many_threads_spend_exactly_the_total",
    "tests/claims/test_release.py::test_T27_other_bounds_versions_or_people_are_another_question",
    "tests/claims/test_release.py::test_T8_T24_broken_lines_of_a_csv_are_never_an_error",
    "tests/claims/test_release.py::test_a_table_larger_than_the_memory_it_may_use_is_spilled",
    "tests/claims/test_release.py::test_an_end_from_outside_ends_the_query_and_removes_what_was_spilled",
    "tests/claims/test_release.py::test_explain_reads_back_whatever_was_accepted",
    "tests/claims/test_selection.py::test_Q3_a_person_in_several_groups_and_values",
    "tests/claims/test_selection.py::test_Q5_bars_hold_the_quantile",
    "tests/claims/test_selection.py::test_the_median_is_at_most_three_rows_off_on_average",
    "tests/claims/test_sensitivity.py::test_S1_to_S10_no_neighbors_are_further_apart",
    "tests/claims/test_tree.py::test_D2_no_other_unbiased_estimate_has_a_smaller_variance",
    "tests/claims/test_tree.py::test_D2_the_estimate_is_that_of_least_squares",
    "tests/test_chance.py::test_a_test_that_draws_and_is_not_in_the_list_fails",
    "tests/test_chance.py::test_soak_repeats_tests_and_counts_failures",
    "tests/test_seeds.py::test_every_number_of_the_section_is_what_the_software_gives",
    "tests/test_seeds.py::test_the_ratio_of_vectors_is_within_e_to_epsilon",
    "tests/unit/cli/test_discover.py::test_bounds_prints_bounds_and_the_lines_to_paste",
    "tests/unit/cli/test_discover.py::test_explain_and_the_ledger_show_both",
    "tests/unit/cli/test_main.py::test_the_demo_tells_the_story",
    "tests/unit/cli/test_table.py::test_a_full_disk_is_told_and_not_traced",
    "tests/unit/engine/test_records.py::test_a_cell_with_many_lines_is_one_cell",
    "tests/unit/engine/test_records.py::test_a_file_of_quotes_takes_bounded_memory",
    "tests/unit/engine/test_records.py::test_a_huge_cell_takes_no_memory_and_hides_nothing",
    "tests/unit/engine/test_records.py::test_every_border_of_blocks_and_buffers_is_like_any_other_place",
    "tests/unit/engine/test_records.py::test_large_files_lose_no_row",
    "tests/unit/engine/test_records.py::test_what_a_record_says_depends_on_itself_alone",
    "tests/unit/engine/test_records.py::test_what_was_written_is_read_and_one_cell_changes_one_row",
    "tests/unit/engine/test_recognise.py::test_T24_no_cell_is_written_or_said",
    "tests/unit/engine/test_recognise.py::test_odd_files_are_refused_or_described",
    "tests/unit/engine/test_written_forms.py::test_every_form_gives_the_rows_that_were_written",
    "tests/unit/ledger/test_ledger.py::test_T26_nothing_is_made_into_an_empty_file",
    "tests/unit/ledger/test_ledger.py::test_what_is_not_a_file_is_refused",
    "tests/unit/ledger/test_place.py::test_a_message_names_the_ledger_so_that_a_shell_takes_it",
    "tests/unit/ledger/test_place.py::test_every_name_is_one_name_of_a_file_and_different_names_are_different",
    "tests/unit/ledger/test_place.py::test_other_names_stay_in_the_folder",
    "tests/unit/measure/test_quantiles.py::test_a_distribution_function_is_plotted_as_a_curve_and_a_quantile_without_zero",
    "tests/unit/measure/test_quantiles.py::test_a_distribution_function_reaches_one_and_is_read_from_the_ledger",
    "tests/unit/measure/test_quantiles.py::test_bars_stay_between_the_bounds_and_hold_their_value",
    "tests/unit/measure/test_quantiles.py::test_degenerate_inputs_get_an_answer_of_the_public_shape",
    "tests/unit/measure/test_quantiles.py::test_every_form_of_table_gives_the_same_quantiles",
    "tests/unit/measure/test_quantiles.py::test_the_engine_spreads_rows_as_a_second_road_does",
    "tests/unit/measure/test_quantiles.py::test_too_many_quantiles_are_refused_and_long_work_tells_its_progress",
    "tests/unit/question/test_sql.py::test_conditions_mean_what_sql_means",
    "tests/unit/test_package.py::test_python_in_the_pages_runs",
    "tests/unit/test_package.py::test_what_is_built_works_without_development_packages",
)


LONG = (
    "tests/claims/test_ledger.py::test_L1_T25_sixteen_processes_are_granted_exactly_the_total",
    "tests/claims/test_ledger.py::test_L3_T26_kill_at_random_moments_never_unspends_sqlite",
    "tests/claims/test_noise.py::test_N2_every_prefix_is_decided_rightly_by_both_fast_paths",
    "tests/claims/test_selection.py::test_Q5_bars_hold_the_quantile",
    "tests/claims/test_checks.py::test_C4_the_false_alarms_of_all_findings_add_up_to_less_than_a_millionth",
    "tests/unit/auditing/checks/test_coverage.py::test_all_bars_hold_in_a_reduced_form",
    "tests/unit/auditing/checks/test_doors.py::test_every_door_is_the_same_on_this_build",
    "tests/unit/auditing/checks/test_failures.py::test_L3_a_ledger_that_is_half_made_is_found",
    "tests/unit/auditing/checks/test_failures.py::test_all_holds_on_this_build",
    "tests/unit/auditing/checks/test_failures.py::test_ledgers_on_a_server_hold_too",
    "tests/unit/auditing/checks/test_identity.py::test_L2_holds_on_this_build",
    "tests/unit/auditing/checks/test_ledgers.py::test_L1_to_L5_hold_on_this_build",
    "tests/unit/auditing/checks/test_reading.py::test_every_cell_row_and_name_is_read_by_itself_on_this_build",
    "tests/unit/release/test_large.py::test_pieces_are_the_whole",
    "tests/unit/test_package.py::test_what_is_built_works_without_development_packages",
)
"""The tests of more than ten seconds each, which `make test` leaves to `make long`."""


def is_slow(item):
    """Say whether a test is left out by -m "not slow"."""
    server = "postgres" in item.fixturenames or "postgresql" in item.nodeid
    return server or is_long(item) or item.nodeid.startswith(SLOW)


def is_long(item):
    """Say whether a test is left out by -m "not long"."""
    return item.nodeid.startswith(LONG)
