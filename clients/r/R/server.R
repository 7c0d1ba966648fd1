# The sources of a server, and what they answer.

#' Connect to a server.
lapwing_connect <- function(url, token_file = NULL, certificates = NULL, seconds = 120) {
  link <- new_link(url, found_token(token_file), seconds, certificates)
  server <- list(
    url = link$url,
    sources = function() vapply(call_server(link, "GET", "sources")$sources, function(each) printable(each$name), ""),
    me = function() call_server(link, "GET", "me"),
    source = function(name) new_source(link, name)
  )
  structure(server, class = "lapwing_server")
}

`[[.lapwing_server` <- function(x, i, ...) {
  if (is_text(i) && !i %in% names(x)) x$source(i) else NextMethod()
}

print.lapwing_server <- function(x, ...) {
  cat("<Lapwing server ", x$url, ">\n", sep = "")
  invisible(x)
}

# How many entries of a ledger a server is asked for at once.
.most <- 1000

# How many entries are read of one list.
.most_listed <- 1e6

new_source <- function(link, name) {
  if (!is_text(name) || !nzchar(name)) fail("InvalidParameter", "name is the name of a source: see $sources().")
  described <- call_server(link, "GET", c("sources", name))
  if (!identical(described$name, name)) {
    fail("ServerError", "The server describes another source than the one that was asked for.")
  }
  get <- function(..., query = list()) call_server(link, "GET", c("sources", name, ...), query = query)
  post <- function(to, body) call_server(link, "POST", c("sources", name, to), body)
  whole <- function(number) format(as.numeric(number), scientific = FALSE, trim = TRUE)

  # All entries in their order, page by page from the last one.
  all_entries <- function(to) {
    entries <- list()
    before <- Inf
    repeat {
      told <- get(to, query = c(list(most = whole(.most)), if (is.finite(before)) list(before = whole(before))))
      page <- told[["entries"]]
      older <- told[["before"]]
      numbers <- c(vapply(page, function(each) if (is_number(each[["entry"]])) as.numeric(each[["entry"]]) else NA_real_, 0), before)
      # a page that others follow is full and begins where the next one ends, or a server could go on for ever
      fits <- !anyNA(numbers) && all(diff(numbers) > 0) &&
        (is.null(older) || (is_number(older) && older >= 1 && length(page) == .most && older == numbers[1L]))
      if (!fits) fail("ServerError", paste("The server's answer cannot be read.", .which))
      entries <- c(page, entries)
      if (is.null(older)) return(entries)
      if (length(entries) > .most_listed) {
        fail("ServerError", "The server lists more than 1,000,000 entries. They are where the ledger is, too: lapwing ledger.")
      }
      before <- older
    }
  }

  wait <- function(job) {
    until <- Sys.time() + 86400
    while (identical(job$state, "open")) {
      if (Sys.time() > until) {
        fail("ServerError", "The server is not done with the question after a day. It goes on there; ask the same question again for its answer, at no further charge.")
      }
      Sys.sleep(1)
      job <- get("jobs", job$job)
    }
    if (!identical(job$state, "done")) {
      fail_as_told(job)
      fail("ServerError", sprintf("The job is %s.", printable(job$state)))
    }
    new_release(get("jobs", job$job, "result"))
  }

  source <- list(
    name = name,
    url = link$url,
    description = function() described,
    plan = function(sql = NULL, epsilon = NULL, statistics = NULL, by = NULL, where = NULL, ...) {
      new_plan(post("plan", question(sql, epsilon, statistics, by, where, ...)))
    },
    release = function(sql = NULL, epsilon, statistics = NULL, by = NULL, where = NULL, ...) {
      told <- post("release", question(sql, epsilon, statistics, by, where, ...))
      if (is.null(told[["job"]])) new_release(told) else wait(told)
    },
    budget = function() {
      told <- get("budget")
      list(epsilon = told$epsilon, delta = told$delta, mine = told$mine)
    },
    left = function() {
      told <- get("budget")
      min(as.numeric(told$epsilon$remaining), as.numeric(if (is.null(told$mine)) Inf else told$mine$remaining))
    },
    history = function() entries_frame(all_entries("history")),
    entries = function() entries_frame(all_entries("ledger")),
    entry = function(number) new_release(get("entries", whole(number))),
    example = function(rows = 10) columns_frame(get("example", query = list(rows = whole(rows)))$columns),
    head = function() printable(get("ledger", "head")$head),
    verify = function(head = NULL) {
      get("ledger", "verify", query = if (is.null(head)) list() else list(head = head))$entries
    },
    start = function(sql = NULL, epsilon, statistics = NULL, by = NULL, where = NULL, ...) {
      post("jobs", question(sql, epsilon, statistics, by, where, ...))$job
    },
    jobs = function() {
      told <- get("jobs")$jobs
      rows_frame(told, c("job", "state", "entry", "error", "message", "made", "changed"))
    },
    job = function(job) get("jobs", job),
    result = function(job) wait(get("jobs", job)),
    cancel = function(job) call_server(link, "DELETE", c("sources", name, "jobs", job))
  )
  structure(source, class = "lapwing_source")
}

print.lapwing_source <- function(x, ...) {
  cat("<Lapwing source \"", x$name, "\" on ", x$url, ">\n", sep = "")
  invisible(x)
}
