// The page of an answer: what was done just before is said once, and not again by a reload or a bookmark.
"use strict";
(() => {
  const address = new URL(location.href);
  if (!address.searchParams.has("done")) return;
  address.searchParams.delete("done");
  history.replaceState(null, "", address);
})();
