// Enhances the citation links: a click shows the passage next to the argument instead of jumping
// to it. Without this script the links work as plain anchors. The script copies document text only
// as nodes that are already in the page, and never parses it.
(() => {
  "use strict";
  const drawer = document.getElementById("drawer");
  if (!drawer || typeof drawer.showModal !== "function") return;
  const head = document.getElementById("drawer-h");
  const claim = drawer.querySelector(".drawer-claim");
  const body = drawer.querySelector(".drawer-body");

  const withoutIds = (node) => {
    const copy = node.cloneNode(true);
    for (const element of [copy, ...copy.querySelectorAll("[id]")]) element.removeAttribute("id");
    copy.removeAttribute("aria-labelledby");
    return copy;
  };

  const open = (link) => {
    const passage = document.getElementById("ref-" + link.dataset.ref);
    if (!passage) return false;
    const sentence = link.closest(".s");
    head.textContent = "Passage " + link.dataset.ref;
    const label = sentence.querySelector(".label").textContent;
    claim.textContent = sentence.querySelector(".t").textContent;
    claim.dataset.label = label;
    claim.className = "drawer-claim " + (link.closest(".side").classList.contains("pro") ? "pro" : "con");
    const copy = withoutIds(passage);
    for (const mark of copy.querySelectorAll("mark")) {
      const active = mark.dataset.keys.split(" ").includes(link.dataset.key);
      mark.classList.add(active ? "active" : "other");
    }
    for (const row of copy.querySelectorAll("tr[data-key]")) {
      row.classList.toggle("active", row.dataset.key === link.dataset.key);
    }
    body.replaceChildren(copy);
    drawer.showModal();
    body.scrollTop = 0;
    const mark = copy.querySelector("mark.active");
    if (mark) {
      const gap = mark.getBoundingClientRect().bottom - body.getBoundingClientRect().bottom;
      if (gap > -24) body.scrollTop = mark.offsetTop - body.offsetTop - body.clientHeight / 3;
    }
    return true;
  };

  document.addEventListener("click", (event) => {
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    const link = event.target.closest("a.cite");
    if (link && plain && open(link)) event.preventDefault();
    const back = event.target.closest("dialog a.back");
    if (back) drawer.close();
    if (event.target === drawer || event.target.id === "drawer-close") drawer.close();
  });
})();
