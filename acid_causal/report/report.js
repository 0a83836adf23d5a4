"use strict";
(() => {
  const edges = JSON.parse(document.getElementById("data").textContent);
  const detail = document.getElementById("detail");
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  const percent = (share) => `${Math.round(100 * share)} %`;
  document.documentElement.classList.add("js");

  // ---- choosing an edge or a variable --------------------------------------------------------

  function clear() {
    all(".chosen, .faded").forEach((part) => part.classList.remove("chosen", "faded"));
  }

  function facts(pairs) {
    const list = make("dl", "");
    for (const [name, value] of pairs) list.append(make("dt", name), make("dd", value));
    return list;
  }

  function chooseEdge(number) {
    clear();
    all(`[data-edge="${number}"]`).forEach((part) => part.classList.add("chosen"));
    const edge = edges[number];
    const known = [["p-value", edge.p], ["given", edge.given], ["tests", edge.tests]];
    if (edge.adjusted !== null) known.push(["p-value, adjusted for all pairs", edge.adjusted]);
    if (edge.confidence !== null) known.push(["confidence", percent(edge.confidence)]);
    detail.replaceChildren(make("h3", edge.title), make("p", `${edge.meaning}.`), facts(known));
    if (edge.required) detail.append(make("p", "The edge is required by what was known beforehand."));
    if (edge.path.length) {
      detail.append(make("p", "At other levels, from the same tests (?: some tests are not known there):"));
      detail.append(facts(edge.path));
    }
    if (edge.marks.length) {
      detail.append(make("p", "In the samples:"));
      detail.append(facts(edge.marks.map(([mark, share]) => [percent(share), mark])));
    }
  }

  function chooseNode(number) {
    clear();
    all(`.node[data-node="${number}"]`).forEach((part) => part.classList.add("chosen"));
    const name = all(`.node.name[data-node="${number}"] title`)[0].textContent;
    const list = make("ul", "");
    edges.forEach((edge, k) => {
      const touches = edge.nodes.includes(number);
      if (touches) list.append(make("li", `${edge.title} (p = ${edge.p})`));
      else all(`.edge[data-edge="${k}"]`).forEach((part) => part.classList.add("faded"));
    });
    detail.replaceChildren(make("h3", name), list.childElementCount ? list : make("p", "No edges."));
  }

  function choosable(part, choose) {
    part.addEventListener("click", choose);
    part.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
    });
  }

  for (const part of all(".edge.hit, tr[data-edge]")) {
    choosable(part, () => chooseEdge(Number(part.dataset.edge)));
  }
  for (const part of all(".edge.hit, .node.box")) {
    part.setAttribute("tabindex", "0");
    part.setAttribute("role", "button");
  }
  for (const part of all(".node.box")) choosable(part, () => chooseNode(Number(part.dataset.node)));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });

  // ---- the size of the picture -----------------------------------------------------------------

  const svg = document.querySelector(".picture svg");
  const natural = svg.viewBox.baseVal.width * 4 / 3;
  svg.style.setProperty("--natural", `${natural}px`);
  // Smaller than this its letters cannot be read: then the sheet scrolls. A large screen is looked
  // at for the whole before it is looked at for a part.
  const least = matchMedia("(max-width: 52rem)").matches ? 0.7 : 0.4;
  svg.style.setProperty("--least", `${least * natural}px`);
  let zoom = 1;
  for (const button of all("[data-zoom]")) {
    button.addEventListener("click", () => {
      zoom = Number(button.dataset.zoom) ? zoom * Number(button.dataset.zoom) : 1;
      svg.style.setProperty("--zoom", zoom);
    });
  }

  // ---- tables ------------------------------------------------------------------------------------

  function valueOf(row, column) {
    const cell = row.cells[column];
    const number = Number(cell.dataset.value);
    return cell.dataset.value === undefined || Number.isNaN(number)
      ? (cell.dataset.value ?? cell.textContent).trim()
      : number;
  }

  function sort(table, heading, column) {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => compare(valueOf(a, column), valueOf(b, column)));
    body.append(...(up ? rows : rows.reverse()));
  }

  for (const table of all("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = make("button", heading.textContent);
      button.type = "button";
      button.addEventListener("click", () => sort(table, heading, column));
      heading.replaceChildren(button);
    });
  }

  document.getElementById("filter")?.addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const row of document.querySelector(".separations").tBodies[0].rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    }
  });

  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
})();
