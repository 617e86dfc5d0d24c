"use strict";
(() => {
  const tip = document.getElementById("tip");

  // --- values of marks: on hover, and by the arrow keys inside a figure ---
  const texts = new WeakMap();
  const textOf = (mark) => {
    if (!texts.has(mark)) {
      const title = mark.querySelector("title");
      texts.set(mark, title ? title.textContent.trim() : "");
      if (title) title.remove(); // or the browser would show it a second time
    }
    return texts.get(mark);
  };
  const show = (mark, x, y) => {
    tip.textContent = textOf(mark);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + 16 + box.height > innerHeight ? Math.max(4, y - box.height - 8) : y + 16) + "px";
  };
  const hide = () => { tip.hidden = true; };
  const markAt = (event) => event.target.closest ? event.target.closest("svg.figure .mark") : null;
  document.addEventListener("pointermove", (event) => {
    const mark = markAt(event);
    if (mark) show(mark, event.clientX, event.clientY); else if (!document.querySelector(".mark.here")) hide();
  });
  document.addEventListener("scroll", () => { if (!document.querySelector(".mark.here")) hide(); }, true);

  const here = (svg) => svg.querySelector(".mark.here");
  const leave = (svg) => { const mark = here(svg); if (mark) mark.classList.remove("here"); hide(); };
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  document.querySelectorAll(".drawing svg").forEach((svg) => {
    svg.addEventListener("blur", () => leave(svg));
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return leave(svg);
      if (!(event.key in steps)) return;
      const marks = [...svg.querySelectorAll(".mark")];
      if (!marks.length) return;
      event.preventDefault();
      const old = here(svg);
      const at = old ? (marks.indexOf(old) + steps[event.key] + marks.length) % marks.length : 0;
      leave(svg);
      marks[at].classList.add("here");
      const box = marks[at].getBoundingClientRect();
      show(marks[at], box.right, box.top);
    });
  });

  // --- every figure can be enlarged and saved ---
  // In a file of its own a figure has its title above it and its legend below it.
  const inFile = (figure, svg) => {
    const line = 18, copy = svg.cloneNode(true), box = svg.viewBox.baseVal;
    const add = (name, attributes, text) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
      made.textContent = text;
      copy.append(made);
    };
    add("text", { class: "label", x: 4, y: -6, "font-weight": "bold" }, figure.querySelector("figcaption strong").textContent);
    const names = [...figure.querySelectorAll(".legend li")];
    names.forEach((item, i) => {
      const y = box.height + i * line;
      add("rect", { class: item.querySelector("rect").getAttribute("class"), x: 8, y, width: 14, height: 10 }, "");
      add("text", { class: "label", x: 28, y: y + 9 }, item.textContent.trim());
    });
    const height = box.height + line * (names.length + 1);
    copy.setAttribute("viewBox", `0 ${-line} ${box.width} ${height}`);
    copy.setAttribute("height", height);
    return copy;
  };
  const save = (figure, svg) => {
    const copy = inFile(figure, svg);
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = document.getElementById("figure-style").textContent;
    copy.prepend(style);
    copy.querySelectorAll(".ghost").forEach((mark) => mark.remove());
    const title = figure.querySelector("figcaption strong").textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    link.download = (title.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").toLowerCase() || "figure") + ".svg";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const button = (words, about, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = words;
    made.setAttribute("aria-label", words + ": " + about);
    made.addEventListener("click", action);
    return made;
  };
  document.querySelectorAll("figure").forEach((figure) => {
    const svg = figure.querySelector(".drawing svg");
    const title = figure.querySelector("figcaption strong").textContent;
    const actions = document.createElement("div");
    actions.className = "actions";
    const zoom = button("Enlarge", title, () => {
      const large = figure.classList.toggle("large");
      zoom.textContent = large ? "Reduce" : "Enlarge";
      zoom.setAttribute("aria-label", zoom.textContent + ": " + title);
    });
    actions.append(zoom, button("Save as SVG", title, () => save(figure, svg)));
    figure.querySelector(".drawing").after(actions);
  });

  // --- tables sort by a click on a heading, a second click turns the order ---
  const valueOf = (cell) => cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim();
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    const headings = [...table.querySelectorAll("thead th")];
    headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
      const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => ({ row, value: valueOf(row.cells[column]) }));
      const last = (item) => item.value === "";
      rows.sort((a, b) => last(a) - last(b) || sign * compare(a.value, b.value));
      body.append(...rows.map((item) => item.row));
    }));
  });
})();
