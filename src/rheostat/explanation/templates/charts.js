"use strict";
(function () {
  const NAMES = ["ink", "soft", "line", "card", "wash", "one", "two", "three", "four", "five", "six", "mute"];
  const NARROW = 600;
  const SYMBOLS = { circle: "circle", square: "square", diamond: "diamond", cross: "x-thin" };
  const SIDES = { top: "top center", bottom: "bottom center", right: "middle right", left: "middle left" };

  function colours() {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(NAMES.map((n) => [n, style.getPropertyValue("--" + n).trim()]));
  }

  function shades(c) { return [[0, c.card], [0.15, c.wash], [1, c.one]]; }

  function colorbar(scale, c) {
    return {
      thickness: 10, outlinewidth: 0, title: { text: scale.title, side: "right", font: { size: 11, color: c.soft } },
      tickmode: "array", tickvals: scale.ticks, ticktext: scale.words, tickfont: { size: 10, color: c.soft },
    };
  }

  function interval(value, low, high, colour) {
    if (!low || !low.length) return undefined;
    return {
      type: "data", symmetric: false, thickness: 1, width: 3, color: colour,
      array: high.map((h, i) => h === null ? 0 : h - value[i]), arrayminus: low.map((l, i) => l === null ? 0 : value[i] - l),
    };
  }

  const hovered = (m) => m.hover.length ? { hovertext: m.hover, hoverinfo: "text" } : { hoverinfo: "skip" };

  const DRAW = {
    line: (m, c) => ({
      x: m.x, y: m.y, mode: m.markers ? "lines+markers" : "lines", ...hovered(m),
      ...(m.steps ? { hoverinfo: "all", hovertemplate: "%{y:.3g}<extra>" + m.name + "</extra>" } : {}),
      line: { color: c[m.colour], width: m.width, dash: m.dash, shape: m.steps ? "hvh" : "linear" },
      marker: { size: 6 },
    }),

    points: (m, c, narrow) => {
      const at = narrow ? m.at_narrow : m.at;
      const colour = c[m.colour];
      return {
        x: m.x, y: m.y, mode: at.length ? "markers+text" : "markers", ...hovered(m),
        text: at.map((side, i) => side ? m.labels[i] : ""), textposition: at.map((side) => SIDES[side] || side || "top center"),
        textfont: { size: 11, color: c.ink }, cliponaxis: false,
        marker: {
          symbol: SYMBOLS[m.symbol] + (m.filled || m.symbol === "cross" ? "" : "-open"), size: m.size,
          color: colour, line: { width: 1.6, color: colour },
        },
        error_x: interval(m.x, m.x_low, m.x_high, c.mute), error_y: interval(m.y, m.y_low, m.y_high, c.mute),
      };
    },

    bars: (m, c) => {
      const shaded = m.shade.length > 0;
      const ends = interval(m.length, m.low, m.high, c.ink);
      const deep = m.shade.map((v) => v > 0.55 ? c.card : c.ink);
      return {
        type: "bar", orientation: m.upright ? "v" : "h", width: m.width, ...hovered(m),
        ...(m.upright ? { x: m.at, y: m.length } : { y: m.at, x: m.length }),
        ...(m.base.length ? { base: m.base } : {}),
        ...(m.labels.length ? { text: m.labels, textposition: "inside", insidetextanchor: "middle",
          textangle: 0, insidetextfont: { size: 12, color: shaded ? deep : c.card } } : {}),
        [m.upright ? "error_y" : "error_x"]: ends,
        marker: shaded
          ? { color: m.shade, cmin: 0, cmax: 1, colorscale: shades(c), showscale: true,
            colorbar: colorbar(m.scale, c), line: { color: c.card, width: 0.6 } }
          : { color: c[m.colour] },
      };
    },

    cells: (m, c) => ({
      type: "heatmap", x: m.x, y: m.y, z: m.shade, zmin: 0, zmax: 1, colorscale: shades(c),
      hoverongaps: false, colorbar: colorbar(m.scale, c), hoverinfo: "text",
      text: m.said.length
        ? m.said.map((row, i) => row.map((s, k) => s && `across ${m.x_words[k]}<br>up ${m.y_words[i]}<br>${s}`))
        : m.shade.map((row, i) => row.map(() => m.y_words[i])),
    }),

    boxes: (m) => ({ x: m.x, y: m.y, mode: "markers", marker: { size: 14, opacity: 0 }, ...hovered(m) }),
  };

  function traces(drawing, c, narrow) {
    const seen = new Set();
    return drawing.elements.map((m) => {
      const first = m.name && !seen.has(m.name);
      seen.add(m.name);
      return { ...DRAW[m.kind](m, c, narrow), name: m.name, legendgroup: m.name, showlegend: Boolean(first) };
    });
  }

  function axis(a, c, narrow) {
    const ends = a.log ? [Math.log10(a.low), Math.log10(a.high)] : [a.low, a.high];
    return {
      title: { text: a.title, font: { size: 13 }, standoff: 14 }, type: a.log ? "log" : "linear", range: ends,
      tickmode: "array", tickvals: a.ticks, ticktext: a.words, tickfont: { size: narrow ? 10 : 11 },
      tickangle: a.names ? "auto" : 0, automargin: true, visible: a.shown, showgrid: !a.names,
      gridcolor: c.line, linecolor: c.line, zeroline: a.low < 0 && a.high > 0 && !a.names, zerolinecolor: c.mute,
    };
  }

  function boxes(drawing, c) {
    return drawing.elements.filter((m) => m.kind === "boxes").flatMap((m) => m.text.map((text, i) => ({
      x: m.x[i], y: m.y[i], text: text.replaceAll("\n", "<br>"), xanchor: "left", align: "left", showarrow: false,
      font: { size: 11, color: c.ink }, bgcolor: c[m.colours[i]], bordercolor: c.one, borderpad: 4,
    })));
  }

  function layout(drawing, c, narrow) {
    const named = new Set(drawing.elements.map((m) => m.name).filter(Boolean));
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: c.ink },
      margin: drawing.x.shown ? { l: 60, r: 20, t: 16, b: 50 } : { l: 4, r: 4, t: 4, b: 4 }, hovermode: "closest", barmode: "overlay", annotations: boxes(drawing, c),
      hoverlabel: { bgcolor: c.card, bordercolor: c.line, font: { color: c.ink } },
      showlegend: named.size > 1,
      legend: { orientation: "h", yanchor: "bottom", y: 1.01, x: 0, font: { size: 12, color: c.ink } },
      uniformtext: { mode: "hide", minsize: 8 },
      xaxis: axis(drawing.x, c, narrow), yaxis: axis(drawing.y, c, narrow),
    };
  }

  // No button may send the data anywhere: a content security policy does not stop a form.
  const config = {
    responsive: true, displaylogo: false, plotlyServerURL: "", showSendToCloud: false,
    displayModeBar: matchMedia("(hover: hover) and (min-width: 700px)").matches ? "hover" : false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d", "sendChartToCloud"],
  };

  function draw() {
    const c = colours();
    CHARTS.forEach((drawing, i) => {
      const place = document.getElementById("chart-" + i);
      const narrow = place.clientWidth < NARROW;
      Plotly.react(place, traces(drawing, c, narrow), layout(drawing, c, narrow), config);
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
