"use strict";
/* Views of the service's answers. Whatever comes from a log is put in as text, never as markup. */
(function () {
  const view = document.getElementById("view");
  const status = document.getElementById("status");
  const login = document.getElementById("login");
  let shown = 0, state = null;

  const token = () => sessionStorage.getItem("token") || "";
  class Refusal extends Error {
    constructor(code, words, answer) { super(words); this.code = code; this.answer = answer; }
  }

  async function call(path, body) {
    const headers = token() ? { Authorization: `Bearer ${token()}` } : {};
    const options = { headers };
    if (body !== undefined) {
      options.method = "POST";
      options.body = JSON.stringify(body);
      headers["Content-Type"] = "application/json";
    }
    const reply = await fetch(path, options);
    if (reply.ok) return reply.json();
    if (reply.status === 401) { ask(); throw new Refusal(401, "a token is needed"); }
    const said = await reply.json().catch(() => ({}));
    const words = said.error || (said.detail ? "not a question that can be asked" : `error ${reply.status}`);
    throw new Refusal(reply.status, words, said.answer);
  }
  const question = (name, body) => call(`api/v1/${name}`, body || {});

  function ask() {
    login.hidden = false;
    document.getElementById("refused").textContent = token() ? "This token is not known." : "";
    document.getElementById("token").focus();
  }
  login.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", document.getElementById("token").value.trim());
    login.hidden = true;
    start();
  });

  /* elements and words */
  function el(name, properties, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties || {})) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (key in made && key !== "list") made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...inside.filter((x) => x !== null && x !== undefined));
    return made;
  }
  const digits = (v, d) => v.toLocaleString("en", { maximumFractionDigits: d, minimumFractionDigits: 0 });
  function amount(v, unit) {
    if (v === null || v === undefined || !isFinite(v)) return "not known";
    const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
    const [by, prefix] = steps.find(([s]) => Math.abs(v) >= s) || [1, ""];
    const scaled = v / by;
    return `${digits(scaled, Math.abs(scaled) < 10 ? 2 : Math.abs(scaled) < 100 ? 1 : 0)} ${prefix}${unit}`;
  }
  function span(s) {
    if (s === null || s === undefined || !isFinite(s)) return "not known";
    const sign = s < 0 ? "-" : "", v = Math.abs(s);
    if (v < 60) return `${sign}${digits(v, 0)} s`;
    if (v < 5400) return `${sign}${digits(v / 60, 0)} min`;
    if (v < 172800) return `${sign}${digits(v / 3600, 1)} h`;
    return `${sign}${digits(v / 86400, 1)} d`;
  }
  const percent = (v, d = 0) => v === null || v === undefined || !isFinite(v) ? "not known" : `${digits(100 * v, d)} %`;
  const signed = (v) => v === null || v === undefined ? "not known" : `${v > 0 ? "+" : ""}${percent(v)}`;
  const moment = (s) => s === null || s === undefined ? "" : s < 1e8 ? `day ${digits(s / 86400, 1)}` : new Date(s * 1000).toISOString().slice(0, 16).replace("T", " ");
  const WORDS = { energy_j: (v) => amount(v, "J"), node_hours: (v) => amount(v, "node-h"), runtime_s: span, power_w: (v) => amount(v, "W") };
  const said = (quantity, v) => (WORDS[quantity] || ((x) => digits(x, 3)))(v);

  function table(heads, rows, label, marked) {
    const right = heads.map((h) => h.endsWith("#"));
    const names = heads.map((h) => h.replace("#", ""));
    const head = el("thead", {}, el("tr", {}, ...names.map((h, i) => el("th", { scope: "col", className: right[i] ? "n" : "" }, h))));
    const body = el("tbody", {}, ...rows.map((row, k) => el("tr", { className: k === marked ? "marked" : "" }, ...row.map((cell, i) => {
      const made = el("td", { className: right[i] ? "n" : "" });
      made.dataset.head = names[i];
      made.append(cell instanceof Node ? cell : String(cell ?? ""));
      return made;
    }))));
    const wide = el("table", { className: heads.length > 3 ? "wide" : "" }, el("caption", { className: "skip" }, label), head, body);
    return el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": label }, wide);
  }
  const tile = (value, words) => el("div", { className: "tile" }, el("b", {}, value), el("span", {}, words));
  const tiles = (...pairs) => el("div", { className: "tiles" }, ...pairs.map(([v, w]) => tile(v, w)));
  const section = (title, ...inside) => el("section", {}, el("h2", {}, title), ...inside);
  const lead = (text) => el("p", { className: "lead" }, text);
  const jobLink = (id) => el("button", { className: "link", type: "button", onclick: () => { location.hash = `job/${encodeURIComponent(id)}`; } }, String(id));
  const refusal = (error) => el("p", { className: "bad", role: "alert" }, error.message);
  const dayTicks = (from, to, most) => {
    const step = 86400 * Math.max(1, Math.ceil((to - from) / 86400 / most));
    const made = [];
    for (let v = Math.ceil(from / 86400) * 86400; v <= to; v += step) made.push(v);
    return made.length > 1 ? made : [from, to];
  };
  const dayWords = (s) => s < 1e8 ? `day ${digits(s / 86400, 0)}` : new Date(s * 1000).toISOString().slice(5, 10);

  /* slider whose value is asked about when it rests */
  function slider(words, low, high, step, value, shows, changed) {
    const out = el("output", {}, shows(value));
    let rest = 0;
    const input = el("input", { type: "range", min: low, max: high, step, value, oninput: () => {
      out.textContent = shows(Number(input.value));
      clearTimeout(rest);
      rest = setTimeout(() => changed(Number(input.value)), 250);
    } });
    return el("label", {}, el("span", {}, words, " ", out), input);
  }

  /* views: each returns its elements; `put` adds only while its view is still the one shown */
  const VIEWS = {
    power: ["Power", async (put) => {
      const a = await question("site-power", { days: 31, bins: 372 });
      const s = a.series, last = s.power_w.length - 1, blind = s.expected_w.some((w) => w !== null);
      put(el("h1", {}, "Power against the cap"), lead(`The newest 31 days of the log, up to ${moment(a.now_s)}.`));
      put(tiles(s.expected_w[last] === null ? [amount(s.power_w[last], "W"), "drawn at the end of the log"]
        : [amount(s.expected_w[last], "W"), "expected at the end of the log"],
        [s.cap_w ? amount(s.cap_w[last], "W") : "none", "cap"],
        [s.cap_w ? span(a.over_cap_s) : "no cap", blind ? "over the cap by known watts" : "over the cap"], [percent(a.known_share), "of use with known watts"],
        [digits(s.running[last], 0), "jobs run"], [digits(a.waiting_jobs, 0), "jobs wait"]));
      const words = { x: dayWords, y: (v) => amount(v, "W"), ticks: dayTicks };
      put(section("Power", Charts.lines([
        { name: "power, mean", x: s.from_s, y: s.power_w, colour: 1, area: true },
        ...(blind ? [{ name: "expected", x: s.from_s, y: s.expected_w, colour: 3, dash: true }] : []),
        ...(s.cap_w ? [{ name: "cap", x: s.from_s, y: s.cap_w, colour: 2, dash: true, steps: true }] : []),
      ], words, "Power of the site over time and its cap")));
      if (blind) put(lead("Expected: jobs whose watts the log does not have (yet) draw what other jobs of their user drew."));
      put(section("Jobs", Charts.lines([
        { name: "running", x: s.from_s, y: s.running, colour: 1 }, { name: "waiting", x: s.from_s, y: s.waiting, colour: 3 },
      ], { ...words, y: (v) => digits(v, 0) }, "Jobs that ran and waited over time")));
    }],
    queue: ["Queue", async (put) => {
      const a = await question("site-power", { days: 31, bins: 372 });
      put(el("h1", {}, "Queue"), lead(`${digits(a.waiting_jobs, 0)} jobs wait at ${moment(a.now_s)}. Open one to see what it would cost at other settings.`));
      put(section("Waiting", table(["job", "user", "application", "nodes#", "limit#", "waits for#"],
        a.waiting.map((j) => [jobLink(j.job_id), j.user, j.app, j.nodes, span(j.time_limit_s), span(j.waited_s)]), "Jobs that wait")));
    }],
    savings: ["Savings", async (put) => {
      const a = await question("site-savings", { days: 31 });
      put(el("h1", {}, "Who could save what"));
      put(lead("On the jobs of the newest 31 days, at most 10 % slower with 80 % confidence. A forecast by the model; what is really saved only a trial tells."));
      const t = a.total, saved = (x) => said(a.quantity, x);
      if (t) put(tiles([saved(t.before - t.after), "could be saved"], [`${percent(-t.change[0], 1)}`, `90 % interval ${percent(-t.change[2], 1)} to ${percent(-t.change[1], 1)}`],
        [digits(a.counts.advised, 0), `of ${digits(a.jobs, 0)} jobs with another setting`]));
      const rows = (name) => a.by[name].filter((r) => r.advised).slice(0, 40).map((r) => [r[name] ?? "(none)", digits(r.advised, 0), saved(r.saved), `${saved(r.saved_low)} to ${saved(r.saved_high)}`, percent(r.saved / r.before), span(r.slower_s)]);
      const heads = (name) => [name, "jobs#", "saved#", "if all errors agree#", "share#", "more time#"];
      put(el("div", { className: "two" }, ...Object.keys(a.by).map((name) => section(`By ${name === "app" ? "application" : name}`, table(heads(name), rows(name), `Savings by ${name}`)))));
    }],
    job: ["Job", async (put, id) => {
      put(el("h1", {}, "One job"));
      const field = el("input", { name: "job", value: id || "", required: true, size: 14, autocomplete: "off" });
      put(el("form", { className: "controls", onsubmit: (e) => { e.preventDefault(); location.hash = `job/${encodeURIComponent(field.value.trim())}`; } },
        el("label", {}, "Job id", field), el("button", {}, "Show")));
      if (!id) { put(lead("Enter the id of a job of the log, or open one from the queue.")); return; }
      const place = el("div");
      const control = el("div", { className: "controls" });
      put(control, place);
      const draw = async (limits) => {
        const mine = shown;
        let a;
        try { a = await question("front", { job: id, ...(limits ? { limits } : {}) }); } catch (error) {
          if (mine !== shown) return null;
          if (!error.answer || !error.answer.front) { place.replaceChildren(refusal(error)); return null; }
          a = error.answer;
          place.replaceChildren(refusal(error), ...front(a));
          return a;
        }
        if (mine === shown) place.replaceChildren(...front(a));
        return a;
      };
      const a = await draw(null);
      if (!a) return;
      const times = a.front.map((r) => r.runtime_s).filter((v) => v > 0);
      const low = Math.log(Math.min(...times) * 0.7), high = Math.log(Math.max(...times) * 1.6);
      control.append(slider("Deadline (with 90 % confidence):", low, high, (high - low) / 80, high, (v) => span(Math.exp(v)),
        (v) => draw([`deadline=${Math.round(Math.exp(v))}s@0.9`])));
    }],
    whatif: ["What if", async (put) => {
      put(el("h1", {}, "What if there were less power"));
      put(lead("The newest 31 days again by the simulator, with less power between two hours of every day. What a plan really saves only a trial tells."));
      const place = el("div"), control = el("div", { className: "controls" });
      put(control, place);
      const asked = { cap_share: 0.8, from_hour: 17, to_hour: 20 };
      const draw = () => redraw(place, "site-daily-cap", asked, plans);
      const hour = (name, words) => slider(words, 0, 24, 1, asked[name], (v) => `${v}:00`, (v) => { asked[name] = v; draw(); });
      control.append(slider("Available power:", 0.5, 1, 0.05, asked.cap_share, percent, (v) => { asked.cap_share = v; draw(); }),
        hour("from_hour", "from"), hour("to_hour", "to"));
      await draw();
    }],
    policies: ["Policies", async (put) => {
      put(el("h1", {}, "Other batch policies"));
      put(lead("The newest 31 days again by the simulator, policy by policy, beside the waits as logged."));
      const power = await question("site-power", { days: 31, bins: 372 });
      const place = el("div"), control = el("div", { className: "controls" });
      put(control, place);
      const most = Math.max(...(power.series.peak_w || power.series.power_w).map((v) => v ?? 0));
      const draw = (cap) => redraw(place, "site-policies", cap ? { cap_w: cap } : {}, policies);
      if (most > 0) control.append(slider("Power cap:", 0.5, 1.2, 0.05, 1.2, (v) => v < 1.2 ? amount(v * most, "W") : "as it is", (v) => draw(v < 1.2 ? v * most : 0)));
      await draw(0);
    }],
    model: ["Model", async (put) => {
      put(el("h1", {}, "Model and drift"));
      const f = state.facts || {}, m = f.model;
      put(section("Model card", m ? table(["", " "], [["class", m.class], ["file", m.file], ["written", moment(m.written_s)], ["forecasts", m.targets.join(", ")],
        ["jobs of the log", digits(f.jobs, 0)], ["log from", moment(f.first_s)], ["log to", moment(f.last_s)], ["jobs with power", percent(f.with_power)],
        ["kinds of job with advice", f.kinds === undefined ? f.no_advice : digits(f.kinds, 0)]], "Model card") : lead("No model is served: each question learns from the log.")));
      if (f.drift) put(...drift(f.drift));
    }],
  };

  async function redraw(place, name, body, shows) {
    const mine = shown, turn = (place.turn = (place.turn || 0) + 1);
    place.setAttribute("aria-busy", "true");
    let made;
    try { made = shows(await question(name, { days: 31, ...body })); } catch (error) { made = [refusal(error)]; }
    if (mine !== shown || turn !== place.turn) return;
    place.replaceChildren(...made);
    place.removeAttribute("aria-busy");
  }

  function plans(a) {
    const base = a.plans[0], taken = a.plans.findIndex((p) => p.name === a.choice);
    const change = (p, key) => !p[key] || p === base ? "" : signed(p[key] / base[key] - 1);
    const made = [];
    if (taken < 0) made.push(el("p", { className: "bad", role: "alert" }, "No plan holds the power that there is and runs every job."));
    else {
      const p = a.plans[taken], longer = p.change.turnaround_s[0];
      made.push(el("p", {}, "Take ", el("b", { id: "plan" }, p.name), p === base ? "." : `: jobs end ${span(Math.abs(longer))} ${longer < 0 ? "earlier" : "later"} on average, energy ${change(p, "energy_j")}.`));
    }
    const paid = base.cost ? ["cost", "cost#"] : base.carbon_kg ? ["carbon_kg", "CO2, kg#"] : null;
    made.push(section("Plans", table(["plan", "energy#", "change#", ...(paid ? [paid[1]] : []), "over available#", "mean wait#", "slowdown#", "jobs later#"],
      a.plans.map((p) => [p.name, said("energy_j", p.energy_j), change(p, "energy_j"), ...(paid ? [digits(p[paid[0]], 0)] : []), span(p.over_s), span(p.mean_wait_s), digits(p.slowdown, 1), digits(p.later, 0)]), "Plans", taken)));
    const w = a.power.mean_w, names = Object.keys(w).filter((n) => n !== "available");
    if (a.power.unit === "date") made.push(section("Power in the last week of submissions", Charts.lines([
      ...names.map((n, k) => ({ name: n, x: a.power.from_s, y: w[n], colour: k ? 1 : 3, area: k > 0 })),
      ...(w.available ? [{ name: "available power", x: a.power.from_s, y: w.available, colour: 2, dash: true, steps: true }] : []),
    ], { x: dayWords, y: (v) => amount(v, "W"), ticks: dayTicks }, "Power of the site with and without the plan")));
    return made;
  }

  function policies(a) {
    const every = Object.entries(a.policies), logged = a.logged;
    const row = (name, p) => [name, span(p.wait_s.mean), span(p.wait_s.p95), span(p.wait_s.max), digits(p.bounded_slowdown.mean, 1), percent(p.utilisation),
      p.power ? said("energy_j", p.power.energy_j) : "", p.power ? amount(p.power.peak_w, "W") : ""];
    const rows = [...(logged ? [row("as logged", logged)] : []), ...every.map(([name, p]) => row(name, p))];
    const best = every.reduce((least, one) => one[1].wait_s.mean < least[1].wait_s.mean ? one : least)[0];
    return [el("p", {}, "Least mean wait: ", el("b", { id: "policy" }, best), a.replay ? `. Against the waits logged the simulator is ${a.replay.meaning}` : "."),
      section("Waits", table(["policy", "mean wait#", "95 % below#", "longest#", "slowdown#", "used#", "energy#", "highest power#"], rows, "Policies", rows.findIndex((r) => r[0] === best))),
      el("p", {}, "Slowdown: time from submission to end over run time, run times below ten seconds as ten. What a job draws is believed from earlier jobs of its user.")];
  }

  function front(a) {
    const names = a.objectives, [x, y] = [names[0], names[1] || names[0]];
    const knobs = Object.keys(a.requested || (a.choice ? a.choice.setting : {}));
    const setting = (r) => knobs.map((k) => `${r[k]} ${r[k] === 1 ? k.replace(/s$/, "") : k}`).join(", ");
    const plain = (name) => name.replace(/_[a-z]+$/, (unit) => unit.length < 4 ? "" : ` ${unit.slice(1)}`);
    const same = (r, s) => s && knobs.every((k) => r[k] === s[k]);
    const chosen = a.choice && a.choice.setting;
    const known = a.front.filter((r) => r[x] !== null);
    const points = known.map((r) => ({ x: r[x], y: r[y], x_low: (r.intervals[x] || [])[0], x_high: (r.intervals[x] || [])[1],
      y_low: (r.intervals[y] || [])[0], y_high: (r.intervals[y] || [])[1], label: knobs.map((k) => r[k]).join(" "),
      kind: same(r, chosen) ? "chosen" : same(r, a.requested) ? "asked" : r.on_front ? "front" : "other" }));
    const made = [section("Settings", Charts.front(points, { x: (v) => said(x, v), y: (v) => said(y, v) }, `${x} and ${y} of each setting`),
      el("p", {}, `To the right ${plain(x)}, upwards ${plain(y)}, lines 90 % intervals, numbers ${knobs.join(" ")}.`))];
    if (a.choice) {
      const c = a.choice, b = a.because;
      const change = (q) => c.change && c.change[q] ? `${signed(c.change[q][0] ?? c.change[q])}` : "not known";
      made.push(section("The choice", el("p", {}, same(a.requested || {}, chosen) ? "Keep " : "Take ", el("b", { id: "choice" }, setting(chosen)),
        !a.requested ? "." : same(a.requested, chosen) ? ", as asked for." : ` instead of ${setting(a.requested)}.`),
        el("p", {}, `Rule: ${b.rule}${(b.constraints || []).length ? `, within ${b.constraints.join(", ")}` : ""}.`),
        same(a.requested || {}, chosen) ? null : el("p", {}, `Against what was asked for: ${names.map((q) => `${q.split("_")[0]} ${change(q)}`).join(", ")}.`),
        b.runner_up ? el("p", {}, `Next best: ${setting(b.runner_up)}.`) : null,
        el("p", {}, `Evidence: ${b.evidence || "a forecast"}, ${digits(b.support || 0, 0)} similar runs.`)));
    }
    const interval = (r, q) => r.intervals[q] ? `${said(q, r[q])} [${said(q, r.intervals[q][0])} to ${said(q, r.intervals[q][1])}]` : said(q, r[q]);
    made.push(section("All settings", table(["setting", ...names.map((n) => `${n.split("_")[0]}#`), "runs behind it#"],
      known.map((r) => [setting(r), ...names.map((q) => interval(r, q)), r.support === null ? "" : digits(r.support, 0)]),
      "All settings", known.findIndex((r) => same(r, chosen)))));
    return made;
  }

  function drift(d) {
    const heads = ["week from", "forecast", "jobs#", "median error#", "90 % intervals held#", "state"];
    const rows = d.weeks.slice(-24).reverse().map((w) => [w.week, w.quantity.split("_")[0], digits(w.jobs, 0), percent(w.error), percent(w.coverage), w.alarm === null ? "too few" : w.alarm ? "alarm" : "as usual"]);
    const said = d.alarms.length ? d.alarms.map((a) => el("p", { className: "bad", role: "alert" }, a)) : [el("p", {}, d.unknown || "No alarm.")];
    return [section("Drift", ...said, rows.length ? table(heads, rows, "How right forecasts were by week") : null)];
  }

  function route() {
    const [name, ...rest] = location.hash.slice(1).split("/");
    const key = VIEWS[name] ? name : Object.keys(VIEWS)[0];
    const mine = ++shown;
    for (const link of document.querySelectorAll("#tabs a")) {
      if (link.hash.slice(1) === key) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    view.dataset.ready = "";
    const busy = el("p", { className: "busy" }, "asking ...");
    view.replaceChildren(busy);
    document.title = `${VIEWS[key][0]} - rheostat`;
    const put = (...made) => { if (mine === shown) { busy.before(...made); } };
    let id = rest.join("/");
    try { id = decodeURIComponent(id); } catch (error) { id = ""; }
    VIEWS[key][1](put, id).catch((error) => put(refusal(error))).finally(() => {
      if (mine === shown) { busy.remove(); view.dataset.ready = key; }
    });
  }

  /* server-sent events, read with fetch so that the token is a header */
  async function listen() {
    for (;;) {
      try {
        const reply = await fetch("api/v1/events", { headers: token() ? { Authorization: `Bearer ${token()}` } : {} });
        if (!reply.ok) throw new Error(`error ${reply.status}`);
        const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          text += value;
          const parts = text.split("\n\n");
          text = parts.pop();
          for (const part of parts) if (part.startsWith("data: ")) heard(JSON.parse(part.slice(6)));
        }
      } catch (error) { status.textContent = "not connected"; }
      await new Promise((resume) => setTimeout(resume, 3000));
    }
  }
  function heard(event) {
    const before = state && state.version;
    if (state) state.version = event.version;
    const given = Object.values(event.counts).reduce((a, b) => a + b, 0);
    status.textContent = event.failed ? "new files cannot be served; the old ones are" : event.ready ? `live, ${digits(given, 0)} advices given` : "learning from the log";
    if (before !== undefined && before !== null && before !== event.version) call("api/v1/state").then((s) => { state = { ...s, version: event.version }; route(); });
  }

  let listening = false;
  async function start() {
    try { state = await call("api/v1/state"); } catch (error) { if (error.code !== 401) view.replaceChildren(refusal(error)); return; }
    route();
    if (!listening) { listening = true; listen(); }
  }
  document.getElementById("tabs").append(...Object.entries(VIEWS).map(([key, [words]]) => el("li", {}, el("a", { href: `#${key}` }, words))));
  addEventListener("hashchange", () => { route(); view.focus({ preventScroll: true }); });
  let width = innerWidth;
  addEventListener("resize", () => { if (Math.abs(innerWidth - width) > 120) { width = innerWidth; route(); } });
  start();
})();
