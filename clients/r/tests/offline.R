# What needs no server: exact numbers, tokens, addresses, questions and odd answers.
library(lapwing)
own <- asNamespace("lapwing")

refused <- function(code, class, text) {
  error <- tryCatch({ code; NULL }, error = function(error) error)
  stopifnot(inherits(error, c(class)), inherits(error, "lapwing_error"), grepl(text, conditionMessage(error), fixed = TRUE))
}

# numbers are exact texts
stopifnot(
  own$exact(0.1, "x") == "0.1", own$exact(1, "x") == "1", own$exact(1e-9, "x") == "0.000000001",
  own$exact(1 / 3, "x") == "0.3333333333333333", own$exact("1e-3", "x") == "1e-3"
)
refused(own$exact(NaN, "epsilon"), "InvalidParameter", "epsilon is a number")
refused(own$exact(c(1, 2), "epsilon"), "InvalidParameter", "epsilon is a number")

# questions
json <- function(...) own$to_json(own$question(...))
stopifnot(
  json("SELECT 1", 0.5, NULL, NULL, NULL) == '{"sql":"SELECT 1","epsilon":"0.5"}',
  json(NULL, 1L, statistic("mean", "cost", low = 0), "ward", "age >= 65") ==
    '{"statistics":[{"statistic":"mean","column":"cost","low":"0"}],"by":"ward","where":"age >= 65","epsilon":"1"}',
  json(NULL, 1, list(statistic("count"), statistic("sum", "cost")), c("ward", "sex"), NULL) ==
    '{"statistics":[{"statistic":"count"},{"statistic":"sum","column":"cost"}],"by":["ward","sex"],"epsilon":"1"}',
  json("q", 1, NULL, list(c("ward", "sex"), "ward", character()), NULL, confidence = 0.9, nonnegative = TRUE) ==
    '{"sql":"q","by":{"tables":[["ward","sex"],["ward"],[]]},"epsilon":"1","confidence":"0.9","nonnegative":true}',
  json("q", NULL, NULL, NULL, NULL, error = list(n = 5), rows = 100) == '{"sql":"q","error":{"n":"5"},"rows":100}'
)

# tokens: from the environment, or from a file that only its owner can read
token <- paste0("lapwing_", strrep("0", 16), "_", strrep("ab", 32))
file <- tempfile()
writeLines(token, file)
Sys.chmod(file, "0644")
if (.Platform$OS.type == "unix") {
  refused(lapwing_connect("http://127.0.0.1:1", token_file = file), "InvalidRequest", "can be read by others")
}
Sys.chmod(file, "0600")
server <- lapwing_connect("http://127.0.0.1:1", token_file = file)
Sys.unsetenv("LAPWING_TOKEN")
refused(lapwing_connect("http://127.0.0.1:1"), "MissingParameter", "The token is missing")
refused(lapwing_connect("http://127.0.0.1:1", token_file = tempfile()), "InvalidRequest", "cannot be read")
Sys.setenv(LAPWING_TOKEN = "two words")
refused(lapwing_connect("http://127.0.0.1:1"), "InvalidRequest", "The token is not one")
Sys.unsetenv("LAPWING_TOKEN")

# no object and no file has it
saved <- tempfile()
saveRDS(server, saved, ascii = TRUE, compress = FALSE)
shown <- capture.output(print(server), str(server), dput(server))
stopifnot(
  !any(grepl(token, c(shown, readLines(saved)), fixed = TRUE)),
  any(grepl("127.0.0.1", readLines(saved), fixed = TRUE))
)
again <- readRDS(saved)
rm(list = ls(own$.tokens), envir = own$.tokens)  # as in a new session
refused(again$sources(), "InvalidRequest", "The connection ended with the session that made it")

# addresses
Sys.setenv(LAPWING_TOKEN = token)
for (address in c("http://stats.example", "http://127.0.0.1.stats.example", "http://localhost@stats.example")) {
  refused(lapwing_connect(address), "InvalidRequest", if (grepl("@", address)) "cannot be used" else "unencrypted")
}
for (address in list("stats.example", "ftp://stats.example", "https://stats.example?token=1", "https://a b", 7, NULL)) {
  refused(lapwing_connect(address), "InvalidRequest", "cannot be used")
}
refused(lapwing_connect("https://stats.example", seconds = 0), "InvalidParameter", "seconds")
refused(lapwing_connect("http://127.0.0.1:1")$sources(), "ServerError", "cannot be reached")

# answers as data frames
answer <- own$new_release(jsonlite::parse_json('{"source": "visits", "entry": 7, "epsilon": "1", "repeated": false,
  "columns": [{"name": "ward", "kind": "key"}, {"name": "n", "kind": "count"}],
  "rows": [{"ward": "north", "n": {"value": 412, "low": 403.5, "high": 421, "noise": "low"}},
           {"ward": null, "n": {"value": null, "low": null, "high": null, "noise": "high"}}], "notes": []}'))
expected <- data.frame(
  ward = c("north", NA), n = c(412, NA), n_low = c(403.5, NA), n_high = c(421, NA), n_noise = c("low", "high")
)
stopifnot(identical(as.data.frame(answer), expected))
for (odd in c('{}', '{"columns": [1], "rows": []}', '{"columns": [], "rows": [7]}')) {
  refused(own$new_release(jsonlite::parse_json(odd)), "ServerError", "columns and rows that fit")
}
stopifnot(own$printable("a\u001b[31m\n\u202e") == "a [31m  ", nchar(own$printable(strrep("a", 300))) == 200L)
cat("offline: all is as expected\n")
