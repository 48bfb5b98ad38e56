"use strict";
const MORE = (function () {
  function palette(c) { return [c.one, c.two, c.three, c.four, c.five, c.six, c.ink, c.mute]; }

  function shades(c) { return [[0, c.card], [0.15, c.wash], [1, c.one]]; }

  function dashOf(s, k) { return s.dash ? "dash" : k < 8 ? "solid" : "dot"; }

  function slot(s, k) { return s.slot === undefined ? k : s.slot; }  // a policy keeps its colour

  const lines = (chart, c) => chart.series.map((s, k) => ({
    x: s.x, y: s.y, name: s.name, mode: "lines",
    line: { color: s.dash ? c.ink : palette(c)[k % 8], width: 1.4, dash: dashOf(s, k), shape: "hvh" },
    hovertemplate: "%{y:.3g}<extra>" + s.name + "</extra>",
  }));

  const columns = (chart, c) => chart.series.map((s, k) => ({
    type: "bar", x: s.x, y: s.y, name: s.name,
    marker: { color: palette(c)[slot(s, k) % 8] },
    hovertemplate: "%{x}: %{y:.3g}<extra>" + s.name + "</extra>",
  }));

  const heat = (chart, c) => chart.series.map((s) => ({
    type: "heatmap", x: s.x, y: s.y, z: s.z, colorscale: shades(c), zmin: 0, hoverongaps: false,
    colorbar: { thickness: 10, outlinewidth: 0, tickfont: { size: 10, color: c.soft },
      ...(s.tens ? { tickvals: [0, 1, 2, 3, 4, 5], ticktext: ["1", "10", "100", "1 k", "10 k", "100 k"] }
        : { tickformat: ".0%" }) },
    text: s.tens ? s.z.map((r, i) => r.map((v, k) => v === null ? ""
      : `across ${s.words[k]}<br>up ${s.words[i]}<br>${Math.round(10 ** v)} jobs`)) : undefined,
    hovertemplate: s.tens ? "%{text}<extra></extra>"
      : "day %{x:.1f}<br>%{y}: %{z:.1%}<extra></extra>",
  }));

  const gantt = (chart, c) => chart.series.map((s) => ({
    type: "bar", orientation: "h", base: s.base, x: s.x, y: s.y, width: s.width,
    hovertext: s.hover, hoverinfo: "text",
    marker: { color: s.shade, cmin: s.shades[0] - 0.1, cmax: s.shades[1], colorscale: [[0, c.wash], [1, c.one]],
      line: { color: c.card, width: 0.6 } },
  }));

  const tree = (chart, c) => {
    const [lines, nodes] = chart.series;
    return [
      { x: lines.x, y: lines.y, mode: "lines", hoverinfo: "skip", line: { color: c.line, width: 1.5 } },
      { x: nodes.x, y: nodes.y, mode: "markers+text", text: nodes.text, hovertext: nodes.hover,
        hoverinfo: "text", textposition: "top center", textfont: { size: 10, color: c.soft },
        marker: { size: nodes.part.map((p) => 8 + 20 * Math.sqrt(p)),
          color: nodes.leaf.map((l) => l ? c.one : c.card), line: { width: 2, color: c.one } } },
    ];
  };

  function heatLayout(found, chart, c) {
    const s = chart.series[0];
    found.xaxis.showgrid = found.yaxis.showgrid = false;
    if (s.tens) {
      for (const axis of [found.xaxis, found.yaxis]) {
        Object.assign(axis, { tickmode: "array", tickvals: s.ticks, ticktext: s.tick_words });
      }
      const top = s.x[s.x.length - 1];
      found.shapes = [{ type: "line", x0: 0, y0: 0, x1: top, y1: top,
        line: { color: c.mute, dash: "dot" } }];
    } else {
      found.yaxis.type = "category";
      found.yaxis.autorange = "reversed";
    }
  }

  function settle(found, chart, c) {
    found.legend.font.color = c.ink;
    if (chart.kind === "time") {
      found.yaxis.rangemode = "tozero";
      found.hovermode = "x unified";
      found.hoverlabel = { bgcolor: c.card, bordercolor: c.line, font: { color: c.ink } };
      if (chart.axes[1].title.startsWith("share")) found.yaxis.tickformat = ".0%";
    }
    if (chart.kind === "columns") {
      found.barmode = "group";
      found.xaxis.type = "category";
      found.xaxis.tickangle = chart.series[0].x.length > 8 || innerWidth < 700 ? -45 : 0;
      if (chart.axes[1].title.startsWith("share")) found.yaxis.tickformat = ".0%";
    }
    if (chart.kind === "heat") heatLayout(found, chart, c);
    if (chart.kind === "gantt") {
      const { top, bottom = 0 } = chart.series[0];
      found.barmode = "overlay";
      found.yaxis.range = [bottom, top];
      if (bottom < 0) found.yaxis.dtick = Math.ceil((top - bottom) / 16);  // rows have whole numbers
    }
    if (chart.kind === "tree") found.xaxis.visible = found.yaxis.visible = false;
    found.showlegend = (chart.kind === "time" || chart.kind === "columns") && chart.series.length > 1;
    return found;
  }

  return { draw: { time: lines, columns, heat, gantt, tree }, settle };
})();
