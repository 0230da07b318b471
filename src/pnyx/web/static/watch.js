// Reload an open page when the server has read new results.
"use strict";
let seen = "";
async function look() {
  try {
    const answer = await fetch("/version", { cache: "no-store" });
    const version = answer.ok ? await answer.text() : seen;
    const busy = document.activeElement?.closest("input, select, textarea") || !getSelection().isCollapsed;
    if (seen && version !== seen && !busy) location.reload();
    seen = seen && busy ? seen : version;
  } catch { /* The server has stopped: keep the page as it is. */ }
  setTimeout(look, 2000);
}
look();
