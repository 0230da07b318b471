// The pages of `pnyx serve`. Everything works without it; texts are only ever set as text.
(() => {
  "use strict";

  // An argument in the making: steps and sentences as they come.
  const making = document.getElementById("making");
  if (making) {
    const place = (id) => document.getElementById(id);
    const started = performance.now();
    const clock = setInterval(() => {
      const seconds = Math.round((performance.now() - started) / 1000);
      place("elapsed").textContent = "· " + seconds + " s";
    }, 1000);
    const events = new EventSource(making.dataset.events);
    let steps = 0;
    events.onopen = () => {  // also where a lost connection is back: all steps come again
      for (const list of making.querySelectorAll("ol.written")) list.replaceChildren();
      steps = 0;
    };
    const stop = () => { events.close(); clearInterval(clock); };
    events.addEventListener("step", (event) => {
      const step = JSON.parse(event.data);
      if (step.said) place("step").textContent = step.said;
      if (step.name !== "judging" && step.name !== "sentence") steps += 1;
      const part = step.name === "judging" && step.asked ? step.done / step.asked : 0;
      const bar = place("progress");
      bar.value = Math.max(bar.value, Math.min(steps + part, bar.max - 0.2));
      if (!step.side) return;
      if (step.note) place(step.side + "-said").textContent = step.note;
      if (step.text) {
        const item = document.createElement("li");
        item.textContent = step.text;
        item.dir = "auto";
        if (step.role === "conclusion") item.className = "conclusion";
        place(step.side + "-written").append(item);
      }
    });
    events.addEventListener("end", (event) => {
      stop();
      location.replace(JSON.parse(event.data).href);
    });
    events.addEventListener("fail", (event) => {
      stop();
      const notice = place("failed");
      notice.hidden = false;
      notice.firstElementChild.textContent = JSON.parse(event.data).said;
      place("step").textContent = "Nothing was finished.";
    });
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED) location.replace(making.dataset.end);
    };
  }

  // Sides that cannot be decided must not look as if they were still pending.
  for (const failure of ["htmx:responseError", "htmx:sendError"]) {
    document.addEventListener(failure, (event) => {
      const part = event.detail.target;
      part.removeAttribute("aria-busy");
      const note = document.createElement("p");
      note.className = "notice bad";
      note.setAttribute("role", "alert");
      note.textContent = "The server gave no answer to this. Reload the page to ask again.";
      part.before(note);
    });
  }

  // Lists that htmx replaces stay where the reader is: what was open stays open, and the result
  // that is at the top of the window stays there.
  let open = [];
  let held = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "found") return;
    open = [...document.querySelectorAll("#found details[open][id]")].map((one) => one.id);
    const results = [...document.querySelectorAll("#found article.result")];
    const first = results.find((one) => one.getBoundingClientRect().bottom > 80);
    held = scrollY > 0 && first ? [first.id, first.getBoundingClientRect().top] : null;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "found") return;
    for (const id of open) {
      const one = document.getElementById(id);
      if (one) one.open = true;
    }
    const again = held && document.getElementById(held[0]);
    if (again && again.offsetParent) {
      scrollBy({ top: again.getBoundingClientRect().top - held[1], behavior: "instant" });
    }
  });
})();
