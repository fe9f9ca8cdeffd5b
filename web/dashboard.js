(() => {
  const EACH = 1000;  // ms between two looks
  const PATIENCE = 5000;  // ms: an answer that takes longer is none
  const SECONDS = 120;  // of the plots
  const COLOURS = 7;  // of common.css
  // In the order in which they matter to a person that waits.
  const PLOTS = [["sent", "sent/s", "--c0"], ["throttled", "throttled/s", "--c4"], ["waiting", "waiting", "--c2"]];

  const $ = (id) => document.getElementById(id);
  const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const show = (node, is) => { node.hidden = !is; };
  const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

  function span(s) {
    if (s == null) return "–";
    if (s < 0.0995) return `${number(Math.round(s * 1000))} ms`;
    if (s < 9.95) return `${s.toFixed(1)} s`;
    if (s < 99.5) return `${Math.round(s)} s`;
    const minutes = Math.round(s / 60);
    if (minutes < 100) return `${minutes} min`;
    const hours = Math.round(s / 3600);
    return hours < 72 ? `${hours} h` : `${Math.round(s / 86400)} d`;
  }
  const rate = (r) => (r == null ? "–" : `${number(r)}/s`);
  const waiting_of = (u) => Object.values(u.waiting).reduce((a, b) => a + b, 0);

  // A list whose nodes live as long as their keys: focus, selection and scroll survive a look.
  function keyed(parent, make) {
    const nodes = new Map();
    return (items, key_of, fill) => {
      const seen = new Set();
      let before = null;
      for (const item of items) {
        let key = key_of(item);
        while (seen.has(key)) key += "\0";
        seen.add(key);
        if (!nodes.has(key)) nodes.set(key, make(item));
        const node = nodes.get(key);
        const place = before ? before.nextSibling : parent.firstChild;
        if (node.root !== place) parent.insertBefore(node.root, place);
        before = node.root;
        fill(node, item);
      }
      for (const [key, node] of nodes)
        if (!seen.has(key)) {
          node.gone?.();
          node.root.remove();
          nodes.delete(key);
        }
    };
  }

  // A table that is filled again with each look. A column: its head, its cell's text, its class.
  function live_table(caption, columns) {
    const body = element("tbody");
    const head = columns.map(([name, , kind]) => element("th", { scope: "col", className: kind ?? "" }, name));
    const root = element("div", { className: "numbers", tabIndex: 0, role: "region", "aria-label": caption },
      element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head)), body));
    const rows = keyed(body, () => {
      const cells = columns.map(([, , kind], i) => element(i ? "td" : "th", { className: kind ?? "", ...(i ? {} : { scope: "row" }) }));
      return { root: element("tr", {}, ...cells), cells };
    });
    const fill = (items, key_of) => {
      show(root, items.length > 0);
      rows(items, key_of, (row, item) => columns.forEach(([, text, kind], i) => {
        set(row.cells[i], text(item));
        if (kind === "name") row.cells[i].title = text(item);
      }));
    };
    return { root, fill };
  }

  const charts = new Set();
  function small_plot([key, label, colour]) {
    const value = element("b"), plot = element("div", { className: "plot", role: "img" });
    const root = element("figure", {}, element("figcaption", {}, element("span", {}, label), value), plot);
    const xs = Array.from({ length: SECONDS }, (_, i) => i - SECONDS);
    const options = () => ({
      width: plot.clientWidth || 300, height: 90, legend: { show: false }, cursor: { show: false }, padding: [6, 16, 0, 0],
      scales: { x: { time: false }, y: { range: (_, min, max) => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [axis({ size: 22, splits: () => [-120, -60, 0], values: (_, s) => s.map((t) => (t ? `${t} s` : "now")) }),
        axis({ size: 44, space: 28, values: (_, s) => s.map(tick) })],
      series: [{}, { stroke: () => css(colour), width: 1.5, points: { show: false } }],
    });
    let chart = null, data = [xs, xs.map(() => null)];
    const draw = () => { chart?.destroy(); chart = new uPlot(options(), data, plot); plot.chart = chart; };
    new ResizeObserver(() => { if (chart && chart.width !== plot.clientWidth) chart.setSize({ width: plot.clientWidth, height: 90 }); }).observe(plot);
    charts.add(draw);
    return {
      root, gone: () => { charts.delete(draw); chart?.destroy(); },
      fill(recent) {
        const ys = xs.map(() => null);
        for (const r of recent) if (r.t < 0 && r.t >= -SECONDS) ys[r.t + SECONDS] = r[key];
        data = [xs, ys];
        const last = ys.findLast((y) => y != null), most = Math.max(0, ...ys);
        set(value, last == null ? "–" : number(last));
        plot.setAttribute("aria-label", `${label}, last two minutes: now ${last ?? "unknown"}, at most ${most}`);
        chart ? chart.setData(data) : draw();
      },
    };
  }

  // The seconds of all scopes of an upstream together.
  function seconds_of(upstream) {
    const all = new Map();
    for (const { recent } of upstream.scopes)
      for (const r of recent) {
        const sum = all.get(r.t) ?? { t: r.t, sent: 0, throttled: 0, waiting: 0 };
        for (const [key] of PLOTS) sum[key] += r[key];
        all.set(r.t, sum);
      }
    return [...all.values()];
  }

  const holds = ({ held }) => Boolean(held.why) && held.why !== "none";
  const until = (s, at) => {
    if (!holds(s)) return "free";
    if (s.stopped) return "until its account is mended";
    return s.held.for_s == null ? "until an answer" : s.held.for_s > 60 ? `for ${span(s.held.for_s)}, till ${clock(at + s.held.for_s * 1000)}` : `for ${span(s.held.for_s)}`;
  };
  const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

  // The scope that a person would look at: that in which most wait, then that which is held longest.
  const slowest = (scopes) => [...scopes].sort((a, b) => b.waiting - a.waiting || (b.held.for_s ?? 0) - (a.held.for_s ?? 0))[0];

  function now_of(u, at) {
    const scope = slowest(u.scopes), wait = waiting_of(u);
    const first = `${plural(wait, "request waits", "requests wait")}, ${number(u.in_flight)} in flight`;
    if (!scope) return `${first}.`;
    if (scope.stopped) return `${first}. Nothing more is sent: the account is refused.`;
    if (!wait && !holds(scope)) return `${first}. A request goes at once.`;
    const why = holds(scope) ? `${scope.held.why}${scope.found ? ` (${scope.found})` : ""}` : "";
    return why ? `${first}. Held by ${why}, ${until(scope, at)}.` : `${first}. The next goes at once.`;
  }
  function wait_of(u) {
    const scope = slowest(u.scopes);
    if (scope?.expected_wait_s == null) return "";
    const first = scope.expected_wait_interactive_s == null ? "" : ` (interactive: ${span(scope.expected_wait_interactive_s)})`;
    return `A request of a new client waits about ${span(scope.expected_wait_s)}${first}. There is room for ${number(u.queue_max)}.`;
  }
  function minute_of({ last_minute: m }) {
    const share = m.requests ? ` (${number((100 * m.throttled) / m.requests)} %)` : "";
    return `Last minute: ${plural(m.requests, "request")}, ${number(m.throttled)} throttled${share}, ${number(m.failed)} failed, `
      + `${number(m.refused)} refused by the proxy, ${number(m.left)} left by their clients; `
      + `waits ${span(m.wait_p50_s)} in the median, ${span(m.wait_p99_s)} at the 99th percentile.`;
  }

  function make_quota() {
    const name = element("span"), words = element("span"), meter = element("meter", { min: 0 });
    return { root: element("li", {}, name, meter, words), name, words, meter };
  }
  function fill_quota({ name, words, meter }, { scope, quota }) {
    set(name, `${quota.name} of ${scope.name}`);
    Object.assign(meter, { max: quota.limit || 1, low: quota.limit / 10, optimum: quota.limit, value: quota.remaining });
    meter.setAttribute("aria-label", `${quota.name} left`);
    const back = quota.reset_s == null ? "" : `, all back in ${span(quota.reset_s)}`;
    set(words, `${number(quota.remaining)} of ${number(quota.limit)}${back}`);
  }

  let at = 0;  // the proxy's clock, ms
  function make_upstream() {
    const title = element("h2"), now = element("p", { className: "now" }), wait = element("p"), minute = element("p", { className: "quiet" });
    const empty = element("p", { className: "empty" });
    const plots = PLOTS.map(small_plot);
    const plot_row = element("div", { className: "plots" }, ...plots.map((p) => p.root));
    const quota_list = element("ul", { className: "quotas", "aria-label": "Quotas" });
    const quotas = keyed(quota_list, make_quota);
    const scopes = live_table("Scopes: each has a limit of its own", [
      ["scope", (s) => s.name, "name"], ["held by", (s) => (holds(s) ? s.held.why : "nothing"), "text held"],
      ["until", (s) => until(s, at), "text"], ["wait", (s) => number(s.waiting)], ["in flight", (s) => number(s.in_flight)],
      ["pace", (s) => rate(s.rate_per_s)], ["slots", (s) => number(s.window)], ["found", (s) => s.found || "nothing yet", "text"], ["law", (s) => s.law, "text"],
    ]);
    const clients = live_table("Clients: each gets its turn", [
      ["client", (c) => c.name, "name"], ["wait", (c) => number(c.waiting)], ["served in the last minute", (c) => number(c.served_minute)],
    ]);
    const root = element("section", { className: "upstream" }, title, now, wait, minute, empty, plot_row, quota_list, scopes.root, clients.root);
    return { root, title, now, wait, minute, empty, plots, plot_row, quotas, quota_list, scopes, clients, gone: () => plots.forEach((p) => p.gone()) };
  }
  function fill_upstream(part, { upstream: u, state }) {
    set(part.title, `${u.name ? `${u.name} → ` : ""}${u.url}`);
    const used = u.scopes.length > 0;
    show(part.empty, !used);
    show(part.plot_row, used);
    show(part.minute, used);
    set(part.empty, `No request has come yet. Point a client at http://${state.listen}${state.upstreams.length > 1 && u.name ? `/${u.name}` : ""} instead of ${u.url}; nothing else changes.`);
    set(part.now, used ? now_of(u, at) : "");
    set(part.wait, wait_of(u));
    set(part.minute, minute_of(u) + (u.profile ? ` Answers are read by the profile ${u.profile}.` : "")
      + ` Connections: ${number(u.connections.busy)} busy, ${number(u.connections.idle)} idle.`);
    const recent = seconds_of(u);
    part.plots.forEach((plot) => plot.fill(recent));
    const quotas = u.scopes.flatMap((scope) => scope.quotas.map((quota) => ({ scope, quota })));
    show(part.quota_list, quotas.length > 0);
    part.quotas(quotas, ({ scope, quota }) => `${scope.name}\0${quota.name}`, fill_quota);
    part.scopes.fill([...u.scopes].sort((a, b) => b.waiting - a.waiting), (s) => s.name);
    part.clients.fill(u.clients, (c) => c.name);
  }

  const upstreams = keyed($("upstreams"), make_upstream);
  const shares = keyed($("shares"), () => ({ root: element("i") }));
  const share_list = keyed($("share-list"), () => {
    const swatch = element("i"), words = element("span");
    return { root: element("li", {}, swatch, words), swatch, words };
  });
  const said = (r) => (r.status ? `${r.status}${r.reason ? `, ${r.reason}` : ""}` : r.ended === "left" ? "the client left" : r.reason || r.ended);
  const last = live_table("The newest first", [
    ["at", (r) => clock(Date.parse(r.at)), "text"], ["request", (r) => `${r.method} ${r.path}`, "name"], ["upstream", (r) => r.upstream, "text"],
    ["answer", said, "text"], ["waited", (r) => span(r.waited_s)],
    ["attempts", (r) => `${r.attempts}${r.throttled ? ` (${r.throttled} throttled)` : ""}`], ["took", (r) => span(r.took_s)], ["client", (r) => r.client, "name"],
  ]);
  $("last").append(last.root);

  const alarm = (text) => set($("alarm"), text);

  function fill(state) {
    at = Date.parse(state.now);
    set($("up"), `${state.version} · up ${span(state.uptime_s)} · ${state.listen} · ${plural(state.connections.clients, "client connection")} of ${number(state.connections.max)}`);
    document.title = `${number(state.upstreams.reduce((n, u) => n + waiting_of(u), 0))} waiting · headway proxy`;
    alarm(state.draining ? "Draining: no new connection is taken; requests that wait are still sent." : "");
    upstreams(state.upstreams.map((upstream) => ({ upstream, state })), ({ upstream }) => upstream.name || upstream.url, fill_upstream);

    show($("hour"), state.last_hour.length > 0);
    const order = state.last_hour.map((s, i) => ({ ...s, colour: s.why === "not waiting" ? "--line" : `--c${i % COLOURS}` }));
    shares(order, (s) => s.why, (node, s) => { node.root.style.flexGrow = s.share; node.root.style.background = `var(${s.colour})`; });
    share_list(order, (s) => s.why, (node, s) => { node.swatch.style.background = `var(${s.colour})`; set(node.words, `${s.why} ${number(100 * s.share)} %`); });

    show($("last"), state.last.length > 0);
    last.fill(state.last, (r) => r.id);
  }

  let reached = Date.now();
  async function look() {
    try {
      const answer = await fetch("/api/state", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
      if (!answer.ok) throw Error(`status ${answer.status}`);
      fill(await answer.json());
      reached = Date.now();
    } catch (error) {
      alarm(`No answer from the proxy since ${clock(reached)}${error.message.startsWith("status") ? ` (${error.message})` : ""}. What stands here is as old; it is asked again each second.`);
    }
    setTimeout(look, EACH);
  }
  fill(JSON.parse($("data").textContent));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((draw) => draw()));
  setTimeout(look, EACH);
})();
