# Answers as data frames: the columns are those of the CSV files that Lapwing writes.

new_release <- function(told) {
  columns <- told[["columns"]]
  fits <- is.list(columns) && is.list(told[["rows"]]) &&
    all(vapply(columns, function(each) is.list(each) && is_text(each[["name"]]) && is_text(each[["kind"]]), TRUE)) &&
    all(vapply(told[["rows"]], function(row) is.list(row) && !is.null(names(row)), TRUE))
  if (!fits) fail("ServerError", paste("The server's answer has no columns and rows that fit.", .which))
  structure(told, class = "lapwing_release")
}

new_plan <- function(told) structure(told, class = "lapwing_plan")

.keys <- c("key", "label", "grouping")

as.data.frame.lapwing_release <- function(x, row.names = NULL, optional = FALSE, ...) {
  names <- vapply(x[["columns"]], function(column) column[["name"]], "")
  kinds <- vapply(x[["columns"]], function(column) column[["kind"]], "")
  frame <- list()
  for (place in seq_along(names)) {
    name <- names[place]
    cells <- lapply(x[["rows"]], function(row) row[[name]])
    if (kinds[place] %in% .keys) {
      frame[[name]] <- cells_vector(cells)
    } else {
      frame[[name]] <- number_vector(cells, "value")
      frame[[paste0(name, "_low")]] <- number_vector(cells, "low")
      frame[[paste0(name, "_high")]] <- number_vector(cells, "high")
    }
  }
  for (name in names[!kinds %in% .keys]) {
    frame[[paste0(name, "_noise")]] <- cells_vector(lapply(x[["rows"]], function(row) row[[name]][["noise"]]))
  }
  as_frame(frame, length(x[["rows"]]), row.names)
}

as.data.frame.lapwing_plan <- function(x, row.names = NULL, optional = FALSE, ...) {
  rows_frame(x$columns, c("name", "kind", "sensitivity", "scale", "claim", "margin", "simultaneous_margin"))
}

print.lapwing_release <- function(x, ...) {
  entry <- if (is.null(x[["entry"]])) "public" else paste("entry", x[["entry"]])
  cat(printable(x$source), ": \u03b5 = ", printable(x$epsilon), ", ", entry,
    if (isTRUE(x$repeated)) ", repeated at no charge", "\n", sep = "")
  print(as.data.frame(x), ...)
  for (note in x$notes) cat(printable(note, 1000L), "\n", sep = "")
  invisible(x)
}

print.lapwing_plan <- function(x, ...) {
  cat(printable(x$source), ": a plan for \u03b5 = ", printable(x$epsilon), "; nothing was read or charged\n", sep = "")
  frame <- as.data.frame(x) # exact texts, such as "200000/3"; people read decimals
  for (name in c("sensitivity", "scale")) frame[[name]] <- vapply(as.character(frame[[name]]), decimal, 0)
  print(frame, ...)
  for (note in x$notes) cat(printable(note, 1000L), "\n", sep = "")
  invisible(x)
}

decimal <- function(text) {
  parts <- suppressWarnings(as.numeric(strsplit(text, "/", fixed = TRUE)[[1L]]))
  if (length(parts) == 2L) parts[1L] / parts[2L] else parts[1L]
}

entries_frame <- function(entries) {
  frame <- rows_frame(entries, c("entry", "time", "kind", "analyst", "epsilon", "delta", "note", "spent", "answered"))
  frame$question <- vapply(entries, function(each) {
    asked <- each$question
    printable(if (is.list(asked) && is_text(asked$query)) asked$query else to_json(asked), 2000L)
  }, "")
  frame
}

rows_frame <- function(rows, names) {
  columns <- lapply(stats::setNames(names, names), function(name) cells_vector(lapply(rows, function(row) row[[name]])))
  as_frame(columns, length(rows))
}

columns_frame <- function(columns) as_frame(lapply(columns, cells_vector), length(columns[[1L]]))

as_frame <- function(columns, rows, row.names = NULL) {
  attr(columns, "row.names") <- if (is.null(row.names)) .set_row_names(rows) else row.names
  class(columns) <- "data.frame"
  columns
}

# A list of single values as a vector, with NA where there is none.
cells_vector <- function(cells) {
  cells[vapply(cells, function(cell) is.null(cell) || length(cell) != 1L, TRUE)] <- NA
  vector <- unlist(cells, use.names = FALSE)
  if (is.null(vector)) logical() else if (is.character(vector)) ifelse(is.na(vector), NA, printables(vector)) else vector
}

printables <- function(texts) vapply(texts, printable, "", most = 2000L, USE.NAMES = FALSE)

number_vector <- function(cells, name) {
  vapply(cells, function(cell) {
    number <- if (is.list(cell)) cell[[name]]
    if (is.null(number)) NA_real_ else as.numeric(number)
  }, 0)
}
