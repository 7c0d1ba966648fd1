// The page that names the cost: after a release, Back leads to the question, not to this page again.
"use strict";
document.getElementById("release").addEventListener("submit", event => {
  const query = new URLSearchParams(new FormData(event.target));
  query.delete("csrf");
  if (location.search && event.submitter?.value === "release") history.replaceState(null, "", `?${query}`);
});
