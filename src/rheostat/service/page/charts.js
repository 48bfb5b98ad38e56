"use strict";
/* Pictures as SVG, made of elements and text nodes only: no markup is ever read from data. */
const Charts = (function () {
  const NS = "http://www.w3.org/2000/svg";

  function make(name, attributes, text) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function ticks(low, high, most) {
    const span = high - low || Math.abs(high) || 1;
    const raw = span / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= raw);
    const made = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) made.push(v);
    return made;
  }

  function extent(values) {
    let low = Infinity, high = -Infinity;
    for (const v of values) if (v !== null && isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
    return low <= high ? [low, high] : [0, 1];
  }

  function frame(width, height, label) {
    const svg = make("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    return svg;
  }

  /* series: [{name, x, y, colour, dash, area, steps}], words: {x: f, y: f} */
  function lines(series, words, label) {
    const width = Math.max(320, Math.min(1200, window.innerWidth - 60));
    const height = width < 500 ? 230 : 300;
    const box = { l: 62, r: 12, t: 10, b: 34 };
    const [x0, x1] = extent(series.flatMap((s) => s.x));
    let [y0, y1] = extent(series.flatMap((s) => s.y));
    y0 = Math.min(0, y0); y1 = y1 === y0 ? y0 + 1 : y1 * 1.05;
    const X = (v) => box.l + (v - x0) / (x1 - x0 || 1) * (width - box.l - box.r);
    const Y = (v) => height - box.b - (v - y0) / (y1 - y0) * (height - box.t - box.b);
    const svg = frame(width, height, label);
    axes(svg, width, height, box, X, Y, [x0, x1], [y0, y1], words);
    for (const s of series) svg.append(...drawn(s, X, Y, y0));
    return figure(svg, series);
  }

  function drawn(s, X, Y, y0) {
    let path = "", pen = false, last = null;
    s.x.forEach((x, i) => {
      const y = s.y[i];
      if (y === null || !isFinite(y)) { pen = false; return; }
      if (pen && s.steps) path += `H${X(x).toFixed(1)}`;
      path += `${pen ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`;
      pen = true; last = x;
    });
    const made = [];
    if (s.area && last !== null) {
      made.push(make("path", { d: `${path}L${X(last).toFixed(1)} ${Y(y0).toFixed(1)}L${X(s.x[0]).toFixed(1)} ${Y(y0).toFixed(1)}Z`, class: `area f${s.colour}` }));
    }
    made.push(make("path", { d: path, class: `l c${s.colour}${s.dash ? " dash" : ""}` }));
    return made;
  }

  function axes(svg, width, height, box, X, Y, xs, ys, words) {
    for (const v of ticks(ys[0], ys[1], 5)) {
      svg.append(make("line", { class: "grid", x1: box.l, x2: width - box.r, y1: Y(v), y2: Y(v) }));
      svg.append(make("text", { x: box.l - 6, y: Y(v) + 4, "text-anchor": "end" }, words.y(v)));
    }
    for (const v of (words.ticks || ticks)(xs[0], xs[1], width < 500 ? 3 : 7)) {
      svg.append(make("text", { x: X(v), y: height - 12, "text-anchor": "middle" }, words.x(v)));
      svg.append(make("line", { class: "axis", x1: X(v), x2: X(v), y1: height - box.b, y2: height - box.b + 5 }));
    }
    svg.append(make("line", { class: "axis", x1: box.l, x2: width - box.r, y1: height - box.b, y2: height - box.b }));
  }

  function figure(svg, series) {
    const made = document.createElement("figure");
    const caption = document.createElement("figcaption");
    for (const s of series) {
      const key = document.createElement("span");
      key.className = `key k${s.colour}`;
      key.textContent = s.name;
      caption.append(key);
    }
    made.append(svg, caption);
    return made;
  }

  /* points: [{x, y, x_low, x_high, y_low, y_high, label, kind}], kinds: chosen, asked, front, other */
  function front(points, words, label) {
    const width = Math.max(320, Math.min(900, window.innerWidth - 60));
    const height = width < 500 ? 280 : 380;
    const box = { l: 70, r: 26, t: 16, b: 38 };
    const known = points.filter((p) => p.x > 0 && p.y > 0);
    const spread = ([low, high]) => [Math.log(low * 0.85), Math.log(high * 1.18)];
    const [x0, x1] = spread(extent(known.map((p) => p.x)));
    const [y0, y1] = spread(extent(known.map((p) => p.y)));
    const clip = (v, a, b) => Math.min(b, Math.max(a, v));
    const X = (v) => box.l + clip((Math.log(v) - x0) / (x1 - x0), 0, 1) * (width - box.l - box.r);
    const Y = (v) => height - box.b - clip((Math.log(v) - y0) / (y1 - y0), 0, 1) * (height - box.t - box.b);
    const svg = frame(width, height, label);
    const logged = (low, high, most) => Array.from({ length: most }, (_, i) => Math.exp(low + (high - low) * (i + .5) / most));
    const inner = { ...words, ticks: () => logged(x0, x1, width < 500 ? 3 : 5) };
    for (const v of logged(y0, y1, 5)) {
      svg.append(make("line", { class: "grid", x1: box.l, x2: width - box.r, y1: Y(v), y2: Y(v) }));
      svg.append(make("text", { x: box.l - 6, y: Y(v) + 4, "text-anchor": "end" }, words.y(v)));
    }
    for (const v of inner.ticks()) svg.append(make("text", { x: X(v), y: height - 12, "text-anchor": "middle" }, words.x(v)));
    for (const p of known) {
      const colour = { chosen: 1, asked: 2, front: 3, other: 0 }[p.kind];
      if (p.x_low) svg.append(make("line", { class: "c0", x1: X(p.x_low), x2: X(p.x_high), y1: Y(p.y), y2: Y(p.y) }));
      if (p.y_low) svg.append(make("line", { class: "c0", x1: X(p.x), x2: X(p.x), y1: Y(p.y_low), y2: Y(p.y_high) }));
      svg.append(make("circle", { class: `f${colour}`, cx: X(p.x), cy: Y(p.y), r: p.kind === "chosen" ? 8 : 5 }));
      svg.append(make("text", { x: X(p.x) + 9, y: Y(p.y) - 8 }, p.label));
    }
    return figure(svg, [["taken", 1], ["asked for", 2], ["on the front", 3], ["dominated", 0]].map(([name, colour]) => ({ name, colour })));
  }

  return { lines, front };
})();
