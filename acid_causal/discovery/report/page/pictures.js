"use strict";
// Draws pairs of variables as SVG: numbers as points, a number and a category as strips, two
// categories as a mosaic. See pair_pictures.py for the numbers.
const pictures = (() => {
  const [WIDTH, HEIGHT, LEFT, TOP, SIDE] = [176, 180, 22, 4, 150];
  const [STEPS, MISSING] = [250, 255];
  const [GROUPS, FEW] = [10, 12];

  function element(name, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  const decode = (series) => Uint8Array.from(atob(series.codes), (char) => char.charCodeAt(0));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  // Spreads points evenly over -0.5 to 0.5, always in the same way.
  const spread = (k) => ((k * 0.618034) % 1) - 0.5;
  const across = (share) => LEFT + share * SIDE;
  const up = (share) => TOP + (1 - share) * SIDE;
  const short = (text, most) => {
    const letters = [...text];
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
  };

  function dot(svg, x, y) {
    svg.append(element("circle", { class: "dot", cx: across(x).toFixed(1), cy: up(y).toFixed(1), r: 2 }));
  }

  // Texts of the axes: x below, y turned at the left; the ends of numbers, and names of levels.
  function label(svg, x, y, ends) {
    const [bottom, middle] = [HEIGHT - 4, LEFT + SIDE / 2];
    const add = (text, most, attributes) => {
      const part = element("text", attributes, short(text, most));
      part.append(element("title", {}, text));
      svg.append(part);
    };
    const turned = (at, from = 9) => ({ transform: `translate(${from} ${at}) rotate(-90)` });
    add(x.name, 18, { class: "name", x: middle, y: bottom, "text-anchor": "middle" });
    add(y.name, 18, { class: "name", ...turned(TOP + SIDE / 2), "text-anchor": "middle" });
    if (!x.levels) {
      add(String(x.low), 7, { x: LEFT, y: TOP + SIDE + 11 });
      add(String(x.high), 7, { x: LEFT + SIDE, y: TOP + SIDE + 11, "text-anchor": "end" });
    }
    if (!y.levels) {
      add(String(y.low), 7, turned(TOP + SIDE, LEFT - 3));
      add(String(y.high), 7, { ...turned(TOP, LEFT - 3), "text-anchor": "end" });
    }
    for (const { text, from, to } of ends) {
      const most = Math.max(2, Math.floor(((to - from) * SIDE) / 5));
      add(text, most, { x: across((from + to) / 2), y: TOP + SIDE + 11, "text-anchor": "middle" });
    }
  }

  // Points, and a line through their means in groups of x.
  function scatter(svg, x, y, rows) {
    const step = (codes) => {
      const values = [...new Set(rows.map((k) => codes[k]))].sort((a, b) => a - b);
      if (values.length > FEW) return 0;
      const gaps = values.slice(1).map((value, k) => value - values[k]);
      return Math.min(STEPS / 16, ...gaps.map((gap) => gap / 2));
    };
    const [wide, high] = [step(x.values), step(y.values)];
    const inside = (share) => 0.03 + 0.94 * share;
    for (const k of rows) {
      dot(svg, inside((x.values[k] + wide * spread(k)) / STEPS), inside((y.values[k] + high * spread(3 * k + 1)) / STEPS));
    }
    const sorted = [...rows].sort((a, b) => x.values[a] - x.values[b]);
    const group = (k) => (wide ? x.values[sorted[k]] : Math.floor((GROUPS * k) / sorted.length));
    const groups = new Map();
    sorted.forEach((row, k) => groups.set(group(k), [...(groups.get(group(k)) ?? []), row]));
    const points = [...groups.values()].map((some) => [x, y].map((one) => inside(mean(some.map((k) => one.values[k])) / STEPS)));
    svg.append(element("polyline", { class: "means", points: points.map(([a, b]) => `${across(a).toFixed(1)},${up(b).toFixed(1)}`).join(" ") }));
    return [];
  }

  // A strip of points for each level, with a line at their mean.
  function strips(svg, x, y, rows) {
    const width = 1 / x.levels.length;
    return x.levels.map((text, level) => {
      const some = rows.filter((k) => x.values[k] === level);
      const middle = (level + 0.5) * width;
      const inside = (code) => 0.03 + (0.94 * code) / STEPS;
      some.forEach((k) => dot(svg, middle + 0.6 * width * spread(k), inside(y.values[k])));
      if (some.length) {
        const at = up(inside(mean(some.map((k) => y.values[k]))));
        svg.append(element("path", { class: "means", d: `M${across(middle - 0.4 * width)} ${at}H${across(middle + 0.4 * width)}` }));
      }
      return { text, from: level * width, to: (level + 1) * width };
    });
  }

  // A tile for each pair of levels, as large as its share of the rows; its colour says whether that
  // is more than expected.
  function mosaic(svg, x, y, rows, expected) {
    const counts = x.levels.map(() => y.levels.map(() => 0));
    rows.forEach((k) => { counts[x.values[k]][y.values[k]] += 1; });
    const inX = counts.map((column) => column.reduce((a, b) => a + b, 0));
    const inY = y.levels.map((_, level) => counts.reduce((sum, column) => sum + column[level], 0));
    const ends = [];
    let from = 0;
    counts.forEach((column, i) => {
      const width = inX[i] / rows.length;
      let below = 0;
      column.forEach((count, j) => {
        const hoped = expected ? expected[i][j] : (inX[i] * inY[j]) / rows.length;
        const excess = (count - hoped) / Math.sqrt(Math.max(hoped, 0.5));
        const height = inX[i] ? count / inX[i] : 0;
        const tile = element("rect", {
          class: excess > 0 ? "tile more" : "tile fewer", x: across(from) + 0.5, y: up(below + height) + 0.5,
          width: Math.max(width * SIDE - 1, 0), height: Math.max(height * SIDE - 1, 0),
          "fill-opacity": Math.min(Math.abs(excess) / 4, 1).toFixed(2),
        });
        tile.append(element("title", {}, `${x.levels[i]}, ${y.levels[j]}: ${count} rows, ${hoped.toFixed(1)} expected`));
        svg.append(tile);
        if (height * SIDE > 11 && width * SIDE > 24) {
          const most = Math.floor((width * SIDE) / 5.5);
          svg.append(element("text", { class: "on", x: across(from) + 4, y: up(below + height / 2) + 3 }, short(y.levels[j], most)));
        }
        below += height;
      });
      ends.push({ text: x.levels[i], from, to: from + width });
      from += width;
    });
    return ends;
  }

  // Draws two series; of a number and a category, the category is across.
  function draw(first, second, expected) {
    const [x, y] = second.levels && !first.levels ? [second, first] : [first, second];
    for (const one of [x, y]) one.values ??= decode(one);
    const rows = [...x.values.keys()].filter((k) => x.values[k] !== MISSING && y.values[k] !== MISSING);
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${y.name} against ${x.name}` });
    svg.append(element("rect", { class: "frame", x: LEFT, y: TOP, width: SIDE, height: SIDE }));
    const kind = x.levels && y.levels ? mosaic : x.levels ? strips : scatter;
    label(svg, x, y, kind(svg, x, y, rows, expected));
    return svg;
  }

  return { draw };
})();
