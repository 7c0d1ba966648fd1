# Errors are conditions whose class is the name that the server gives ("BudgetExceeded"), then "lapwing_error".

fail <- function(name, message) {
  stop(structure(
    class = c(name, "lapwing_error", "error", "condition"),
    list(message = printable(message, 2000L), call = NULL)
  ))
}

# A text that is harmless in a terminal: printable, and not long.
printable <- function(text, most = 200L) {
  text <- enc2utf8(as.character(text)[1L])
  if (is.na(text) || !validUTF8(text)) return("")
  text <- gsub("\\p{C}", " ", text, perl = TRUE)  # control characters, and those that turn the direction
  if (nchar(text) > most) paste0(substr(text, 1L, most - 1L), "\u2026") else text
}
