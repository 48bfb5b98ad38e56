"use strict";
(function () {
  function colours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["ink", "soft", "line", "card", "wash", "one", "two", "three", "four", "five", "six", "mute"];
    return Object.fromEntries(names.map((n) => [n, style.getPropertyValue("--" + n).trim()]));
  }

  const KINDS = [
    ["front", "on the front", "circle", "one"],
    ["dominated", "dominated", "circle-open", "mute"],
    ["requested", "asked for", "square-open", "two"],
    ["chosen", "chosen", "diamond", "three"],
  ];

  function errors(high, value, low, colour) {
    if (!low) return undefined;
    return {
      type: "data", symmetric: false, thickness: 1, width: 3, color: colour,
      array: high.map((h, i) => h - value[i]), arrayminus: low.map((l, i) => value[i] - l),
    };
  }

  function pick(list, rows) { return list ? rows.map((i) => list[i]) : undefined; }

  function settings(s, c) {
    const order = s.x.map((_, i) => i).filter((i) => s.on_front[i]);
    order.sort((a, b) => s.x[a] - s.x[b]);
    const line = {
      x: pick(s.x, order), y: pick(s.y, order), mode: "lines", hoverinfo: "skip",
      line: { color: c.one, width: 1, dash: "dot" }, showlegend: false,
    };
    const points = KINDS.map(([kind, name, symbol, colour]) => {
      const rows = s.x.map((_, i) => i).filter((i) => s.kinds[i] === kind && s.x[i] !== null);
      const x = pick(s.x, rows), y = pick(s.y, rows);
      return {
        x, y, name, mode: "markers+text", text: pick(s.text, rows), textposition: "top center",
        textfont: { size: 11, color: c.soft }, hovertext: pick(s.hover, rows), hoverinfo: "text",
        marker: { symbol, size: kind === "chosen" ? 14 : 10, color: c[colour], line: { width: 2, color: c[colour] } },
        error_x: errors(pick(s.x_high, rows), x, pick(s.x_low, rows), c.mute),
        error_y: errors(pick(s.high, rows), y, pick(s.low, rows), c.mute),
      };
    });
    return [line, ...points.filter((p) => p.x.length)];
  }

  const more = typeof MORE === "undefined" ? { draw: {} } : MORE;

  function traces(chart, c) {
    if (more.draw[chart.kind]) return more.draw[chart.kind](chart, c);
    const palette = [c.one, c.two, c.three, c.mute];
    return chart.series.flatMap((s, k) => {
      if (s.kinds) return settings(s, c);
      const colour = palette[k % palette.length];
      if (chart.kind === "bar") {
        return [{ type: "bar", orientation: "h", y: [...s.x].reverse(), x: [...s.y].reverse(),
          marker: { color: colour }, name: s.name, hoverinfo: "x+y" }];
      }
      if (s.kind === "true") {
        return [{ x: s.x, y: s.y, name: s.name, mode: "markers", hovertext: s.hover, hoverinfo: "text",
          marker: { symbol: "x-thin", size: 9, color: c.ink, line: { width: 1.6, color: c.ink } } }];
      }
      return [{ x: s.x, y: s.y, name: s.name, mode: "lines+markers", hovertext: s.hover, hoverinfo: "text",
        line: { color: colour, width: 2 }, marker: { size: 6 } }];
    });
  }

  function axis(a, log, c) {
    const base = {
      title: { text: a.title, font: { size: 13 }, standoff: 14 }, type: log ? "log" : "linear", gridcolor: c.line,
      zeroline: false, linecolor: c.line, tickfont: { size: 11 }, automargin: true, tickangle: 0,
    };
    return a.ticks ? { ...base, tickmode: "array", tickvals: a.ticks, ticktext: a.words } : base;
  }

  function layout(chart, c) {
    const found = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: c.ink },
      margin: { l: 60, r: 20, t: 34, b: 50 }, hovermode: "closest",
      legend: { orientation: "h", y: 1.12, x: 0, font: { size: 12 } },
      xaxis: axis(chart.axes[0], chart.log, c), yaxis: axis(chart.axes[1], chart.log, c),
    };
    if (chart.kind === "bar") {
      [found.xaxis.title, found.yaxis.title] = [found.yaxis.title, { text: "" }];
      found.showlegend = false;
      found.yaxis.type = "category";
    }
    if (chart.kind === "calibration") {
      found.xaxis.range = found.yaxis.range = [0, 1];
      found.xaxis.tickformat = found.yaxis.tickformat = ".0%";
      found.shapes = [{ type: "line", x0: 0, y0: 0, x1: 1, y1: 1, line: { color: c.mute, dash: "dot" } }];
    }
    return more.draw[chart.kind] ? more.settle(found, chart, c) : found;
  }

  // No button may send the data anywhere: a content security policy does not stop a form.
  const config = {
    responsive: true, displaylogo: false, plotlyServerURL: "", showSendToCloud: false,
    displayModeBar: matchMedia("(hover: hover) and (min-width: 700px)").matches ? "hover" : false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d", "sendChartToCloud"],
  };

  function draw() {
    const c = colours();
    CHARTS.forEach((chart, i) => {
      Plotly.react("chart-" + i, traces(chart, c), layout(chart, c), config);
    });
  }

  async function unpack() {
    const text = document.getElementById("plotly").textContent;
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(plain).text();
    document.head.append(script);
  }

  unpack().then(() => {
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }).catch((error) => {
    for (const place of document.querySelectorAll(".chart")) {
      place.textContent = "This browser cannot draw the picture: it cannot unpack gzip. " + error;
    }
  });
})();
