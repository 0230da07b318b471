/* Keyboard shortcuts, and answers without loading a new page. Without this script, the forms and
   links do the same. */
(() => {
  "use strict";
  const work = document.getElementById("work");
  if (!work) return;
  const PART = { "X-Pnyx-Part": "1" };
  const IDLE = 60; // seconds without activity after which time no longer counts as work
  let here = 0, seconds = 0, sign = Date.now(), waiting = Promise.resolve(), leaving = false, chosen = false;
  const form = () => document.getElementById("answer");
  const rows = () => [...work.querySelectorAll(".field-row")];
  const say = (words) => { document.getElementById("said").textContent = words; };

  setInterval(() => {
    if (!document.hidden && Date.now() - sign < IDLE * 1000) seconds += 0.1;
  }, 100);
  const working = () => { sign = Date.now(); };
  for (const kind of ["keydown", "pointerdown", "pointermove", "scroll", "wheel"])
    addEventListener(kind, working, { passive: true });

  function fresh() {
    here = Math.max(0, rows().findIndex((row) => !row.querySelector("input:checked")));
    seconds = 0;
    chosen = false;
    const button = document.getElementById("show-keys");
    if (button) button.hidden = false;
    point(false);
  }

  function point(scroll) {
    const all = rows();
    if (all.length < 2) return;
    all.forEach((row, n) => row.classList.toggle("here", n === here));
    if (scroll) all[here]?.scrollIntoView({ block: "nearest" });
  }

  function content(action) {
    const sent = new URLSearchParams(new FormData(form()));
    sent.set("seconds", seconds.toFixed(1));
    sent.set("do", action);
    return sent;
  }

  // Send one request after another, because each needs the version that the previous one returned.
  function queue(task) {
    waiting = waiting.then(task).catch(() => {
      say("");
      const notice = document.createElement("p");
      notice.className = "notice bad";
      notice.setAttribute("role", "alert");
      notice.textContent = "Your answer could not be saved because the server does not answer. Your choice is kept: try again.";
      work.querySelector(".notice.bad")?.remove();
      (work.querySelector(".asked") || work).prepend(notice);
    }).finally(() => work.classList.remove("saving"));
    return waiting;
  }

  async function take(answer) {
    const elsewhere = answer.headers.get("x-pnyx-leave");
    if (elsewhere) { leaving = true; location.assign(elsewhere); return; }
    const text = await answer.text();
    if (!answer.headers.get("x-pnyx-address") && !answer.ok) throw new Error(String(answer.status));
    work.innerHTML = text;
    const address = answer.headers.get("x-pnyx-address");
    if (address && address !== location.pathname + location.search) history.pushState(null, "", address);
    fresh();
    const head = document.getElementById("asks");
    head?.focus({ preventScroll: true });
    if (answer.ok) scrollTo(0, 0);
    say(work.querySelector("[role=alert]") ? "" : work.querySelector(".where")?.textContent || "");
  }

  function send(action) {
    queue(async () => {
      const target = form();
      if (!target || leaving) return;
      const sent = content(action);
      work.classList.add("saving");
      await take(await fetch(target.action, { method: "POST", body: sent, headers: PART, keepalive: true }));
    });
  }

  function draft(written) {
    if (form()?.dataset.single === "1" && !written) return; // a single choice is confirmed at once, so it needs no draft
    queue(async () => {
      const target = form();
      if (!target || leaving) return;
      const sent = content("draft"), counted = seconds;
      const answer = await fetch(target.action, { method: "POST", body: sent, headers: PART, keepalive: true });
      if (answer.ok) {
        target.elements.version.value = (await answer.json()).version;
        seconds -= counted;
      } else await take(answer);
    });
  }

  function undo() {
    const target = document.getElementById("undo-form");
    if (target) queue(async () => take(await fetch(target.action, {
      method: "POST", body: new URLSearchParams(new FormData(target)), headers: PART })));
  }

  function go(id) {
    const link = document.getElementById(id);
    if (link) queue(async () => take(await fetch(link.href, { headers: PART })));
  }

  function choose(key) {
    const all = rows();
    if (!all.length) return false;
    const row = all[Math.min(here, all.length - 1)];
    const input = row.querySelector(`input[data-key="${key}"]`);
    if (!input) return false;
    if (input.checked && chosen && all.length === 1) { send("answer"); return true; }
    input.checked = true;
    chosen = true;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    if (all.length > 1 && here < all.length - 1) { here += 1; point(true); }
    return true;
  }

  const KEYS = {
    Enter: () => {
      const onward = document.getElementById("onward");
      if (onward && !chosen) { go("onward"); return; }
      if (form()) send("answer");
    },
    u: () => { const box = form()?.elements.unsure; if (box) { box.click(); chosen = true; } },
    s: () => {
      const skipping = work.querySelector(".skipping");
      if (skipping) { skipping.open = true; document.getElementById("reason").focus(); }
    },
    c: () => {
      const comment = work.querySelector(".comment");
      if (comment) { comment.open = true; document.getElementById("comment").focus(); }
    },
    z: undo, Backspace: undo,
    j: () => go("after"), k: () => go("before"),
    "?": () => document.getElementById("keys").showModal(),
    ArrowDown: () => { if (rows().length > 1) { here = Math.min(here + 1, rows().length - 1); point(true); } },
    ArrowUp: () => { if (rows().length > 1) { here = Math.max(here - 1, 0); point(true); } },
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.repeat) return;
    if (document.getElementById("keys").open) return;
    const target = event.target;
    if (target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])")) {
      if (event.key === "Escape") { target.blur(); const head = document.getElementById("asks"); head?.focus({ preventScroll: true }); }
      else if (event.key === "Enter" && target.id === "reason") { event.preventDefault(); send("skip"); }
      return;
    }
    const several = rows().length > 1;
    if (target.matches("a, button, summary") && event.key === "Enter") return;
    if (target.matches(".passage") && event.key.startsWith("Arrow")) return;
    if (event.key.startsWith("Arrow") && !several) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (choose(key) || KEYS[key]) {
      event.preventDefault();
      if (!/^[a-z0-9]$/.test(key) || !rows()[Math.min(here, rows().length - 1)]?.querySelector(`input[data-key="${key}"]`)) KEYS[key]?.();
    }
  });

  work.addEventListener("change", (event) => {
    const row = event.target.closest(".field-row");
    if (row) { chosen = true; here = Math.max(0, rows().indexOf(row)); point(false); }
    if (event.target.name !== "reason") draft(!row);
    if (row) say(`${row.querySelector("legend").textContent}: ${event.target.parentElement.textContent}`);
  });
  work.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.id === "undo-form") undo();
    else send(event.submitter?.value === "skip" ? "skip" : "answer");
  });
  work.addEventListener("click", (event) => {
    const link = event.target.closest("#before, #after, #onward");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); go(link.id); }
    if (event.target.closest("#show-keys")) KEYS["?"]();
  });
  addEventListener("popstate", () => location.reload());
  work.classList.add("scripted");
  fresh();
})();
