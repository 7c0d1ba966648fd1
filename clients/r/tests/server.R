# Against a real server: LAPWING_TEST_URL and LAPWING_TEST_TOKENS, a folder with a token for each person.
library(lapwing)
url <- Sys.getenv("LAPWING_TEST_URL")
if (!nzchar(url)) {
  cat("NO SERVER WAS NAMED: the tests that need one are NOT RUN\n")
  quit(status = 0)
}
connect <- function(who, ...) lapwing_connect(url, token_file = file.path(Sys.getenv("LAPWING_TEST_TOKENS"), who), ...)
refused <- function(code, class, text) {
  error <- tryCatch({ code; NULL }, error = function(error) error)
  stopifnot(inherits(error, class), inherits(error, "lapwing_error"), grepl(text, conditionMessage(error), fixed = TRUE))
}
sql <- "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"

server <- connect("ana")
stopifnot(identical(server$sources(), "visits"), server$me()$person == "ana")
visits <- server[["visits"]]
stopifnot(identical(visits$description()$columns$ward$keys, list("north", "south")))

plan <- visits$plan(sql, epsilon = 0.5)
margins <- as.data.frame(plan)
stopifnot(identical(margins$name, c("n", "cost")), all(margins$margin > 0), plan$epsilon == "0.5")
wanted <- visits$plan(statistics = statistic("count"), by = "ward", error = 20)
stopifnot(as.numeric(wanted$epsilon) > 0)
stopifnot(visits$left() == 2)

answer <- visits$release(sql, epsilon = 0.5)
frame <- as.data.frame(answer)
stopifnot(
  identical(names(frame), c("ward", "n", "n_low", "n_high", "cost", "cost_low", "cost_high", "n_noise", "cost_noise")),
  identical(frame$ward, c("north", "south", "elsewhere")), is.numeric(frame$n),
  all(frame$n_low <= frame$n & frame$n <= frame$n_high), !answer$repeated
)
again <- visits$release(sql, epsilon = "1/2")
stopifnot(again$repeated, identical(as.data.frame(again), frame), visits$left() == 1.5)
stopifnot(identical(as.data.frame(visits$entry(answer$entry)), frame))
stopifnot(identical(as.data.frame(visits$release(
  statistics = list(statistic("count", name = "n"), statistic("mean", "cost", name = "cost")), by = "ward", epsilon = 0.5
))$n, frame$n))
stopifnot(grepl("/", as.data.frame(wanted)$scale), !any(grepl("[0-9]/[0-9]", capture.output(print(wanted)))))
shown <- capture.output(print(answer), print(plan), print(visits))
stopifnot(any(grepl("n_high", shown, fixed = TRUE)), any(grepl("nothing was read or charged", shown, fixed = TRUE)))

history <- visits$history()
stopifnot(nrow(history) == 1L, history$epsilon == "0.5", grepl("COUNT", history$question))
stopifnot(visits$budget()$mine$remaining == "1.5", visits$budget()$epsilon$total == "4")
example <- visits$example(5)
stopifnot(is.data.frame(example), nrow(example) == 5L, all(c("ward", "cost") %in% names(example)))

job <- visits$start("SELECT COUNT(*) AS n FROM visits", epsilon = 0.25)
counted <- as.data.frame(visits$result(job))
stopifnot(nrow(counted) == 1L, visits$job(job)$state == "done", visits$jobs()$job == job, visits$left() == 1.25)
refused(visits$job("nothing"), "NotAllowed", "")

refused(visits$release(sql, epsilon = 3), "BudgetExceeded", "othing was charged")
refused(visits$plan("SELECT wardd, COUNT(*) FROM visits GROUP BY wardd", epsilon = 1), "UnknownColumn", "Did you mean \"ward\"?")
refused(visits$entries(), "NotAllowed", "")
refused(server$source("secrets"), "NotAllowed", "")
refused(server$source("nowhere"), "NotAllowed", "")
Sys.setenv(LAPWING_TOKEN = paste0("lapwing_", strrep("0", 16), "_", strrep("0", 64)))
refused(lapwing_connect(url)$sources(), "NotSignedIn", "")

auditor <- connect("audrey")[["visits"]]
entries <- auditor$entries()
stopifnot("ana" %in% entries$analyst, auditor$verify(auditor$head()) == nrow(entries))
utils::assignInNamespace(".most", 2, "lapwing")  # page by page
stopifnot(identical(auditor$entries(), entries), identical(entries$entry, seq_len(nrow(entries))))
refused(auditor$verify(strrep("0", 64)), "LedgerError", "")
cat("server: all is as expected\n")
