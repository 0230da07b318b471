// A page that is open loads itself again when the server has read the results anew.
"use strict";
let seen = "";
async function look() {
  try {
    const answer = await fetch("/version", { cache: "no-store" });
    const version = answer.ok ? await answer.text() : seen;
    const busy = document.activeElement?.closest("input, select, textarea") || !getSelection().isCollapsed;
    if (seen && version !== seen && !busy) location.reload();
    seen = seen && busy ? seen : version;
  } catch { /* The server has ended: the page stays as it is. */ }
  setTimeout(look, 2000);
}
look();
