// Keys on the pages of a list: j or the right arrow for next, k or the left arrow for previous.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  const at = event.target;
  if (at instanceof Element && at.closest("input, select, textarea, [contenteditable], .scroll")) return;
  const way = { j: "next", ArrowRight: "next", k: "prev", ArrowLeft: "prev" }[event.key];
  const link = way && document.querySelector(`a[rel="${way}"]`);
  if (link) { event.preventDefault(); link.click(); }
});
