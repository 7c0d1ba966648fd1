# HTTP to a server: JSON there and back, TLS verified, the token in a header and nowhere else.
#
# Tokens stay in this session.  An object holds only the number of its token here, so that a workspace, an .rds file or a
# printed object never has one.

.tokens <- new.env(parent = emptyenv())

.largest <- 256 * 2^20

new_link <- function(url, token, seconds, certificates) {
  parts <- if (is_text(url)) regmatches(url, regexec("^(https?)://(\\[[0-9a-fA-F:]+\\]|[^/:]+)(:[0-9]{1,5})?(/.*)?$", url))[[1L]]
  if (length(parts) == 0L || grepl("[@?# \\\\]|[^[:print:]]", url)) {
    fail("InvalidRequest", "The address of the server cannot be used. Give one such as https://stats.example.")
  }
  local <- parts[3L] %in% c("127.0.0.1", "localhost", "[::1]")
  if (parts[2L] == "http" && !local) {
    fail("InvalidRequest", "The token would cross the network unencrypted. Use https://; http:// is for this machine alone.")
  }
  if (!is.numeric(seconds) || length(seconds) != 1L || is.na(seconds) || seconds <= 0 || seconds > 86400) {
    fail("InvalidParameter", "seconds is a number above 0, and at most 86400, a day.")
  }
  handle <- paste0(Sys.getpid(), "-", format(as.numeric(Sys.time()), digits = 20), "-", length(.tokens))
  assign(handle, token, envir = .tokens)
  list(url = sub("/+$", "", url), handle = handle, seconds = seconds, certificates = certificates, local = local)
}

# The JSON that a server answers; an error of the server is an error here, with its text.
call_server <- function(link, method, path, body = NULL, query = list()) {
  token <- .tokens[[link$handle]]
  if (is.null(token)) {
    fail("InvalidRequest", "The connection ended with the session that made it. Connect again: lapwing_connect(\u2026).")
  }
  address <- paste(c(link$url, "api/v1", vapply(path, escaped, "")), collapse = "/")
  pairs <- paste0(names(query), "=", vapply(query, escaped, ""), recycle0 = TRUE)
  if (length(pairs)) address <- paste0(address, "?", paste(pairs, collapse = "&"))
  asked <- httr2::request(address)
  asked <- httr2::req_method(asked, method)
  asked <- httr2::req_headers(asked, Authorization = paste("Bearer", token), Accept = "application/json")
  asked <- httr2::req_user_agent(asked, "lapwing-r")
  asked <- httr2::req_timeout(asked, link$seconds)
  # a redirect would send the token elsewhere
  asked <- httr2::req_options(asked, followlocation = FALSE, maxfilesize_large = .largest)
  if (link$local) asked <- httr2::req_options(asked, noproxy = "*")
  if (!is.null(link$certificates)) asked <- httr2::req_options(asked, cainfo = link$certificates)
  if (!is.null(body)) asked <- httr2::req_body_raw(asked, to_json(body), type = "application/json")
  asked <- httr2::req_error(asked, is_error = function(response) FALSE)
  answer <- tryCatch(httr2::req_perform(asked), error = function(error) NULL)
  if (is.null(answer)) {
    fail("ServerError", sprintf(
      "The server %s cannot be reached or trusted, or did not answer within %s seconds. What was charged stays charged; the same question again completes it at no charge.",
      link$url, format(link$seconds)
    ))
  }
  status <- httr2::resp_status(answer)
  told <- from_json(answer)
  if (status < 200L || status >= 300L) {
    fail_as_told(told)
    fail("ServerError", sprintf("The server answered with status %d, and not as Lapwing does. %s", status, .which))
  }
  if (is.null(told)) fail("ServerError", paste("The server's answer is no object of JSON.", .which))
  told
}

# The error that a server tells, if it does.
fail_as_told <- function(told) {
  name <- told[["error"]]
  if (is_text(name) && is_text(told[["message"]]) && grepl("^[A-Za-z]{1,60}$", name)) fail(name, told[["message"]])
}

.which <- "Is this the address of a Lapwing server, of the same version?"

# parse_json reads text alone; fromJSON would open a text that is an address or a file.
from_json <- function(answer) {
  if (length(answer$body) == 0L) return(NULL)
  told <- tryCatch(
    jsonlite::parse_json(httr2::resp_body_string(answer, encoding = "UTF-8"), simplifyVector = FALSE),
    error = function(error) NULL
  )
  if (is.list(told) && !is.null(names(told))) told else NULL
}

to_json <- function(body) {
  as.character(jsonlite::toJSON(body, auto_unbox = TRUE, null = "null", na = "null", digits = NA))
}

escaped <- function(part) utils::URLencode(enc2utf8(as.character(part)), reserved = TRUE)

is_text <- function(value) is.character(value) && length(value) == 1L && !is.na(value)

is_number <- function(value) is.numeric(value) && length(value) == 1L && is.finite(value)

# --- tokens ---

found_token <- function(token_file) {
  token <- if (is.null(token_file)) Sys.getenv("LAPWING_TOKEN") else read_token(token_file)
  token <- trimws(token)
  if (!nzchar(token)) {
    fail("MissingParameter", "The token is missing. Set LAPWING_TOKEN, or give token_file = with a file that only you can read.")
  }
  if (nchar(token) > 1000L || !grepl("^[!-~]+$", token)) {
    fail("InvalidRequest", "The token is not one. A token begins with lapwing_, and has no spaces.")
  }
  token
}

read_token <- function(file) {
  about <- if (is_text(file)) file.info(file, extra_cols = FALSE) else list(size = NA)
  if (is.na(about$size) || about$isdir) {
    fail("InvalidRequest", "The file with a token cannot be read. Set LAPWING_TOKEN, or give token_file = with a file that only you can read.")
  }
  if (.Platform$OS.type == "unix" && bitwAnd(as.integer(about$mode), 63L) != 0L) {  # 63 is octal 077
    fail("InvalidRequest", sprintf(
      "The file \"%s\" with a token can be read by others. Let only yourself read it: chmod 600 %s. If others could read it, ask for a new token.",
      file, file
    ))
  }
  paste(readLines(file, n = 1L, warn = FALSE), collapse = "")
}
