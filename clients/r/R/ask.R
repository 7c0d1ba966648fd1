# Questions: what is sent, as docs/reference/server.md says.

#' A statistic by its name, for those who do not write SQL.
statistic <- function(statistic, column = NULL, ...) {
  asked <- c(list(statistic = statistic), if (!is.null(column)) list(column = column), list(...))
  lapply(asked, exact_in)
}

# A number as an exact text: the shortest decimal that is this number.
exact <- function(value, name) {
  if (is_text(value)) return(value)
  if (!is.numeric(value) || length(value) != 1L || !is.finite(value)) {
    fail("InvalidParameter", sprintf("%s is a number such as 0.5, or an exact text such as \"0.5\".", name))
  }
  for (digits in 15:17) {
    text <- format(value, digits = digits, scientific = FALSE, trim = TRUE, decimal.mark = ".")
    if (as.numeric(text) == value) break
  }
  text
}

exact_in <- function(value) if (is.numeric(value)) exact(value, "a number") else value

question <- function(sql, epsilon, statistics, by, where, ...) {
  more <- list(...)
  if (!is.null(statistics) && !is.null(statistics$statistic)) statistics <- list(statistics)
  asked <- list(
    sql = sql,
    statistics = statistics,
    by = if (is.list(by)) list(tables = lapply(by, as.list)) else if (length(by) > 1L) as.list(by) else by,
    where = where,
    epsilon = if (is.null(epsilon)) NULL else exact(epsilon, "epsilon"),
    confidence = if (is.null(more$confidence)) NULL else exact(more$confidence, "confidence"),
    error = if (is.list(more$error)) lapply(more$error, exact, "error") else if (!is.null(more$error)) exact(more$error, "error")
  )
  asked <- c(asked, more[setdiff(names(more), c("confidence", "error"))])
  asked <- asked[!vapply(asked, is.null, TRUE)]
  if ("rows" %in% names(asked)) asked$rows <- as.integer(asked$rows)
  if ("rows_per_person" %in% names(asked)) asked$rows_per_person <- as.integer(asked$rows_per_person)
  asked
}
