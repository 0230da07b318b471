// The pages of `pnyx serve`. They also work without this script. Texts are never set as HTML.
(() => {
  "use strict";

  // An argument that is being written: show steps and sentences as they arrive.
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
    events.onopen = () => {  // also after a lost connection is restored: all steps are sent again
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
      place("step").textContent = "The argument could not be written.";
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
      note.textContent = "The server did not answer. Reload the page to try again.";
      part.before(note);
    });
  }

  // When htmx replaces the lists, keep open details open and keep the result at the top of the
  // window in place.
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
