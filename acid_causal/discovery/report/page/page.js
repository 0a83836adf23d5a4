(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { names, pairs } = data;
  const detail = document.getElementById("detail");
  const hint = [...detail.childNodes];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text = "", kind = "") =>
    Object.assign(document.createElement(tag), { textContent: text, className: kind });
  const percent = (share) => `${Math.round(100 * share)} %`;
  const root = document.documentElement;
  root.classList.add("js");

  // ---- the panel: an edge, a separated pair or a variable --------------------------------------

  function unmark() {
    all(".chosen, .faded").forEach((part) => part.classList.remove("chosen", "faded"));
  }

  function show(...parts) {
    detail.replaceChildren(...parts);
    detail.parentElement.scrollTop = 0;
    root.classList.add("open");
  }

  function close() {
    unmark();
    detail.replaceChildren(...hint);
    root.classList.remove("open");
  }

  function facts(known) {
    const list = make("dl");
    for (const [name, value] of known) list.append(make("dt", name), make("dd", value));
    return list;
  }

  const titleOf = ({ nodes: [a, b], mark }) =>
    mark ? `${names[a]} ${mark} ${names[b]}` : `${names[a]}, ${names[b]}`;
  const setOf = (given) => given.length ? given.map((k) => names[k]).join(", ") : "nothing";

  function summaryOf(pair) {
    const given = pair.given.length ? `given ${setOf(pair.given)}` : "given nothing";
    if (pair.required) return `${pair.meaning}. The edge is required by what was known beforehand.`;
    if (pair.mark) return `${pair.meaning}. Most doubtful ${given}.`;
    if (pair.forbidden) return "No edge: kept apart by what was known beforehand.";
    return `No edge: they look independent ${given}.`;
  }

  // At which levels the pair is linked, and with which marks.
  function pathOf(pair) {
    const table = make("table", "", "path");
    const [levels, marks] = [table.insertRow(), table.insertRow()];
    pair.path.forEach((mark, k) => {
      const kind = data.levels[k] === data.alpha ? "here" : "";
      levels.append(make("td", String(data.levels[k]).replace(/^0\./, "."), kind));
      marks.append(make("td", (mark || "·") + (data.open[k] ? "?" : ""), kind));
    });
    const said = "At other levels α, from the same tests (·: no edge";
    return [make("h4", "Stability"), make("p", `${said}${data.open.some(Boolean) ? "; ?: some tests are not known there" : ""}).`, "note"), table];
  }

  function setsOf(pair) {
    const table = make("table", "", "sets");
    for (const [given, pvalue, separates] of pair.sets) {
      const row = table.insertRow();
      row.className = separates ? "separates" : "";
      row.append(make("td", setOf(given)), make("td", pvalue, "number"));
    }
    const more = pair.tests - pair.sets.length;
    const end = more ? [make("p", `and ${more} more with smaller p-values`, "note")] : [];
    const said = pair.mark
      ? "The first decides: it has the largest p-value."
      : `The first decides. Those with p > ${data.alpha}, in bold, separate the two.`;
    return [make("h4", "Conditioning sets asked"), make("p", said, "note"), table, ...end];
  }

  // The pair as it is, and after regressions on the decisive set.
  function picturesOf(pair, number) {
    if (!data.pictures) return [];
    const { series, after, rows } = data.pictures;
    const box = make("div", "", "pair");
    const add = (said, x, y, expected) => {
      const figure = make("figure");
      figure.append(pictures.draw(x, y, expected), make("figcaption", said));
      box.append(figure);
    };
    const named = (k, of) => Object.assign(series[k], { name: of });
    const [a, b] = pair.nodes;
    add("as they are", named(a, names[a]), named(b, names[b]));
    const left = after[number];
    if (left) {
      const both = series[a].levels && series[b].levels;
      const said = both ? `compared with what ${setOf(pair.given)} explains` : `what regressions on ${setOf(pair.given)} leave`;
      const [x, y] = [left[0], left[1]];
      add(said, x === a ? series[a] : named(x, `${names[a]}, rest`), y === b ? series[b] : named(y, `${names[b]}, rest`), left[2]);
    }
    const notes = [`${rows} rows`];
    if (series[a].levels && series[b].levels) notes.push("blue tiles: more rows than if independent, orange: fewer");
    else notes.push("line: means");
    if ([a, b, ...(left ? left.slice(0, 2) : [])].some((k) => series[k].cut)) notes.push("values far out lie on the frame");
    if (left) notes.push("kernel ridge regressions, as in ACID, on these rows");
    else if (pair.given.length) notes.push("regressions are drawn for the first pairs only");
    return [box, make("p", `${notes.join("; ")}.`, "note")];
  }

  function choosePair(number) {
    unmark();
    const pair = pairs[number];
    all(`[data-edge="${number}"], [data-pair="${number}"]`).forEach((part) => part.classList.add("chosen"));
    if (!pair.mark) pair.nodes.forEach((k) => all(`.node[data-node="${k}"]`).forEach((part) => part.classList.add("chosen")));
    const known = [["p-value", pair.p]];
    if (pair.adjusted) known.push(["adjusted for all pairs", pair.adjusted]);
    if (pair.confidence !== null) known.push([pair.mark ? "confidence" : "linked in samples", percent(pair.confidence)]);
    const parts = [make("h3", titleOf(pair)), make("p", summaryOf(pair)), facts(known), ...picturesOf(pair, number)];
    if (pair.path.length) parts.push(...pathOf(pair));
    if (!pair.forbidden) parts.push(...setsOf(pair));
    if (pair.marks && pair.marks.length) {
      parts.push(make("h4", "In the samples"), facts(pair.marks.map(([mark, share]) => [percent(share), mark])));
    }
    show(...parts);
  }

  function chooseNode(number) {
    unmark();
    all(`.node[data-node="${number}"]`).forEach((part) => part.classList.add("chosen"));
    const list = make("ul");
    pairs.forEach((pair, k) => {
      if (!pair.mark) return;
      if (!pair.nodes.includes(number)) {
        all(`.edge[data-edge="${k}"]`).forEach((part) => part.classList.add("faded"));
        return;
      }
      const button = make("button", `${titleOf(pair)} (p = ${pair.p})`, "link");
      button.type = "button";
      button.addEventListener("click", () => choosePair(k));
      const item = make("li");
      item.append(button);
      list.append(item);
    });
    show(make("h3", names[number]), list.childElementCount ? list : make("p", "No edges."));
  }

  function choosable(part, choose) {
    part.setAttribute("tabindex", "0");
    part.addEventListener("click", () => {
      choose();
      part.scrollIntoView({ block: "nearest" }); // above the panel, where that is at the bottom
    });
    part.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); part.dispatchEvent(new Event("click")); }
    });
  }

  for (const part of all(".edge.hit, tr[data-pair]")) {
    const number = Number(part.dataset.edge ?? part.dataset.pair);
    choosable(part, () => choosePair(number));
  }
  for (const part of all(".node.box")) choosable(part, () => chooseNode(Number(part.dataset.node)));
  for (const part of all(".edge.hit, .node.box")) part.setAttribute("role", "button");
  document.getElementById("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

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

  // ---- many variables: a search by name, and a slider for the firmest edges ----------------------

  const [find, firmest] = ["find", "firmest"].map((id) => document.getElementById(id));
  const partsOf = pairs.map(() => []);
  for (const part of all("[data-edge], [data-pair]")) {
    partsOf[Number(part.dataset.edge ?? part.dataset.pair)].push(part);
  }
  const nodeParts = all(".node");

  function filter() {
    const wanted = find.value.trim().toLowerCase();
    const fits = names.map((name) => name.toLowerCase().includes(wanted));
    const most = firmest ? Number(firmest.value) : pairs.length;
    const linked = new Set();
    pairs.forEach((pair, k) => {
      const shown = pair.nodes.some((node) => fits[node]) && (!pair.mark || k < most);
      if (shown && pair.mark) pair.nodes.forEach((node) => linked.add(node));
      partsOf[k].forEach((part) => part.classList.toggle("left-out", !shown));
    });
    const everything = !wanted && (!firmest || most === Number(firmest.max));
    for (const part of nodeParts) {
      const node = Number(part.dataset.node);
      part.classList.toggle("dim", !everything && !linked.has(node) && !(wanted && fits[node]));
    }
    find.closest(".filter").classList.toggle("set", !everything); // then it is printed, too
    if (wanted) all("details:has(.separations)").forEach((part) => { part.open = true; });
    if (!firmest) return;
    const last = pairs[most - 1];
    const least = last.confidence === null ? `p ≤ ${last.p}` : `confidence ≥ ${percent(last.confidence)}`;
    document.getElementById("kept").textContent = `${most} of ${firmest.max}: ${least}`.replace("≤ <", "<");
  }

  if (find) {
    for (const input of [find, firmest]) input?.addEventListener("input", filter);
    filter();
  }

  // ---- the lines that make the graph again -------------------------------------------------------

  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const lines = button.closest(".again").querySelector("pre");
      try {
        await navigator.clipboard.writeText(lines.textContent);
      } catch { // no clipboard without the permission
        getSelection().selectAllChildren(lines);
        document.execCommand("copy");
      }
      button.textContent = "copied";
    });
  }

  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
})();
