(() => {
  const report = JSON.parse(document.getElementById("data").textContent);
  const COLOURS = 7;  // of common.css; after them the same again, dashed. The limit-known sender has the ink.
  const DASHES = [[], [7, 3], [2, 2]];
  const SHOWN_MAX = 8;  // laws whose curves are drawn at first
  const HAMMERED = 50;  // % refused, or more
  const NEAR = 1.1;  // times the best time: as good as it

  const FIGURES = {
    times_told: "time ÷ limit-known",
    completion: "completion (s)",
    money: "money",
    attempts_per_request: "attempts per request",
    throttled_share: "throttled (%)",
    worst_second: "worst second (throttles)",
    p50: "p50 (s)",
    p99: "p99 (s)",
    jain: "Jain fairness",
    recovery: "recovery (s)",
  };

  // One look for each law, the same in every plot of the page.
  const looks = new Map();
  for (const { laws, told } of report.scenarios)
    for (const { law } of laws)
      if (law !== told && !looks.has(law))
        looks.set(law, { colour: `--c${looks.size % COLOURS}`, dash: DASHES[Math.floor(looks.size / COLOURS) % DASHES.length] });
  for (const { told } of report.scenarios) looks.set(told, { colour: "--ink", dash: [4, 4] });

  const redraws = [];  // of all plots, for another colour scheme

  // Radio buttons, drawn as a row of switches.
  function choice(name, title, options, state, key, changed) {
    const group = element("fieldset", {}, element("legend", {}, title));
    for (const [value, label] of options) {
      const input = element("input", { type: "radio", name, value, checked: state[key] === value });
      input.addEventListener("change", () => ((state[key] = value), changed()));
      group.append(element("label", { className: "choice" }, input, label));
    }
    return group;
  }

  // A figure: its switches, its plot, and its numbers as a table that is made when it is opened.
  // `options` and `data` are uPlot's; both are asked again after every change.
  function figure(scenario, { id, title, measures, log, scale = "linear", options, data, rows, head, note }) {
    const state = { measure: measures[0][0], scale };
    const plot = element("div", { className: "plot", id: `${scenario.id}-${id}`, tabIndex: 0, role: "group" });
    const numbers = element("details", {}, element("summary", {}, `Numbers: ${title.toLowerCase()}`));
    const made = element("figure", {}, element("h3", {}, title));
    const label = () => measures.find(([key]) => key === state.measure)[1];

    const draw = () => {
      plot.chart?.destroy();
      plot.replaceChildren();
      plot.setAttribute("aria-label", `Plot: ${title}, ${label()}. The numbers are in the table that follows.`);
      plot.chart = new uPlot({ width: plot.clientWidth || 300, legend: { show: false }, ...options(state, plot) }, data(state), plot);
    };
    const fill = () => {
      numbers.querySelector(".numbers")?.remove();
      if (numbers.open) numbers.append(table(`${title}: ${label()}${note ? `, ${note}` : ""}`, head(state), rows(state)));
    };
    const changed = () => (draw(), fill());
    numbers.addEventListener("toggle", fill);

    const choices = element("div", { className: "choices" });
    if (measures.length > 1)
      choices.append(choice(`${plot.id}-measure`, "What", measures, state, "measure", changed));
    if (log)
      choices.append(choice(`${plot.id}-scale`, "Scale", [["linear", "linear"], ["log", "logarithmic"]], state, "scale", changed));
    made.append(choices, plot, numbers);
    scenario.plots.append(made);
    new ResizeObserver(() => {
      const chart = plot.chart;
      if (chart && chart.width !== plot.clientWidth) chart.setSize({ width: plot.clientWidth, height: chart.height });
    }).observe(plot);
    scenario.redraws.push(changed);
    scenario.charts.push(plot);
    redraws.push(draw);
    draw();
  }

  // 1, 2, 5, 10, … from below min to above max; the powers of ten alone where those are enough.
  function decades(min, max) {
    const marks = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); ++power)
      for (const digit of [1, 2, 5]) marks.push(+`${digit}e${power}`);
    const first = marks.findLastIndex((m) => m <= min), last = marks.findIndex((m) => m >= max);
    return marks.slice(first, Math.max(last, first + 1) + 1);
  }
  const logarithmic = { distr: 3, range: (_, min, max) => (min > 0 ? [decades(min, max)[0], decades(min, max).at(-1)] : [1, 10]) };
  const log_axis = {
    splits: (_1, _2, min, max) => {
      const marks = decades(min, max), tens = marks.filter((m) => Number.isInteger(+Math.log10(m).toFixed(9)));
      return tens.length > 2 ? tens : marks;
    },
    filter: (_, splits) => splits,
  };
  function time_figure(scenario, { id, title, unit, measures, log }) {
    const drawn = scenario.laws.filter((l) => l.line);
    // A law has points at multiples of `each` steps, and at its end. Curves share an axis that has them all, to the end of the longest
    // that is shown.
    let grid = [], seconds = [];
    const end = (line, i) => Math.min((i + 1) * line.each, line.moments);
    const index = (line, g) => Math.ceil(g / line.each) - 1;
    const regrid = () => {
      const shown = drawn.filter((l) => scenario.on.has(l.law)), all = new Set();
      for (const { line } of shown.length ? shown : drawn) line.attempts.forEach((_, i) => all.add(end(line, i)));
      grid = [...all].sort((a, b) => a - b);
      seconds = grid.map((g) => +(g * scenario.step).toPrecision(6));
    };
    const point = (line, measure, g) => {
      if (g > line.moments) return null;
      return end(line, index(line, g)) === g ? line[measure][index(line, g)] : undefined;  // that is no gap
    };
    const most = drawn.filter((l) => scenario.on.has(l.law)).map((l) => Math.max(...l.line[measures[0][0]].filter((v) => v != null), 0));
    const dwarfed = Math.max(...most) > 8 * Math.min(...most.filter((v) => v > 0));
    figure(scenario, {
      id, title, measures, log, scale: log && dwarfed ? "log" : "linear", note: `${unit}, seed ${scenario.seeds[0]}`,
      options: (state, plot) => ({
        height: 300,
        scales: {
          x: { time: false },
          y: state.scale === "log"
            ? logarithmic
            : { range: (_, min, max) => [0, max > 0 ? max * 1.04 : 1] },
        },
        axes: [axis({ label: "seconds", size: 32, values: (_, splits) => splits.map(tick) }),
          axis({ ...(state.scale === "log" && log_axis), label: unit, values: (_, splits) => splits.map(tick), size: (_, values) => 20 + 7 * Math.max(1, ...(values ?? []).map((v) => v.length)) })],
        padding: [8, 12, 0, 0],
        series: [{}, ...drawn.map(({ law }) => ({
          label: law, show: scenario.on.has(law), width: 1.25, dash: looks.get(law).dash,
          stroke: () => css(looks.get(law).colour), points: { show: false },
        }))],
        focus: { alpha: 0.15 },
        cursor: { y: false, sync: { key: scenario.id }, points: { size: 6 }, focus: { prox: -1 } },
        hooks: { setCursor: [(chart) => tip(chart, plot, drawn, (line) => line[state.measure][index(line, grid[chart.cursor.idx])])] },
      }),
      data: (state) => {
        regrid();
        return [seconds, ...drawn.map(({ line }) => grid.map((g) => {
          const v = point(line, state.measure, g);
          return state.scale === "log" && v <= 0 ? null : v;
        }))];
      },
      head: () => ["seconds", ...drawn.map((l) => l.law)],
      rows: (state) => grid.map((g, i) => [String(seconds[i]), ...drawn.map(({ line }) => {
        const v = point(line, state.measure, g);
        return v === undefined ? "" : number(v);
      })]),
    });
    const plot = scenario.charts.at(-1);
    plot.addEventListener("keydown", (event) => {
      const chart = plot.chart, last = seconds.length - 1, at = chart.cursor.idx ?? -1;
      const to = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      chart.setCursor({ left: chart.valToPos(seconds[to], "x"), top: 0 });
    });
    plot.addEventListener("blur", () => plot.chart.setCursor({ left: -10, top: -10 }));
  }

  // What the curves are where the cursor stands.
  function tip(chart, plot, laws, value_of) {
    plot.querySelector(".tip")?.remove();
    const { idx, left } = chart.cursor;
    if (idx == null || left < 0) return;
    const values = laws.map(({ law, line }, i) => ({ law, shown: chart.series[i + 1].show, value: value_of(line) }))
      .filter((v) => v.shown && v.value != null).sort((a, b) => b.value - a.value);
    if (!values.length) return;
    const box = element("div", { className: "tip" }, `${chart.data[0][idx]} s`);
    for (const { law, value } of values.slice(0, 12)) {
      const swatch = element("i");
      swatch.style.background = `var(${looks.get(law).colour})`;
      box.append(element("div", {}, swatch, law, element("b", {}, number(value))));
    }
    plot.append(box);
    const x = chart.over.offsetLeft + left;
    box.style.left = `${Math.max(0, x + 12 + box.offsetWidth > plot.clientWidth ? x - 12 - box.offsetWidth : x + 12)}px`;
  }

  // The wait after each answer of the first client: a point, by whether the answer was a refusal.
  function delay_figure(scenario, lines) {
    const waiting = lines.filter((l) => l.delays.some((v) => v > 0));
    const of = (state) => waiting.find((l) => l.law === state.measure);
    const dots = (label, colour) => ({
      label, paths: () => null, stroke: () => css(colour), points: { show: true, size: 5, fill: () => css(colour) },
    });
    const split = (state, served) => of(state).delays.map((v, i) =>
      of(state).served[i] === served && (state.scale !== "log" || v > 0) ? v : null);
    figure(scenario, {
      id: "delay", title: "Delay after each answer", log: true, scale: "log", note: `ms, seed ${scenario.seeds[0]}`,
      measures: waiting.map(({ law }) => [law, law]),
      options: (state) => ({
        height: 300,
        scales: { x: { time: false }, y: state.scale === "log" ? logarithmic : { range: (_, min, max) => [0, max > 0 ? max * 1.04 : 1] } },
        axes: [axis({ label: "answer", size: 32, values: (_, splits) => splits.map(tick) }),
          axis({ ...(state.scale === "log" && log_axis), label: "ms", size: 60, values: (_, splits) => splits.map(tick) })],
        padding: [8, 12, 0, 0],
        series: [{}, dots("served", "--c0"), dots("refused", "--c4")],
        cursor: { y: false },
      }),
      data: (state) => [of(state).delays.map((_, i) => i + 1), split(state, 1), split(state, 0)],
      head: () => ["answer", "served", "refused"],
      rows: (state) => of(state).delays.map((v, i) => [String(i + 1), of(state).served[i] ? number(v) : "", of(state).served[i] ? "" : number(v)]),
    });
  }

  // A row for each law: a dot for each seed, a line from least to most, a tick at the median.
  function dots_figure(scenario, { id, title, unit, measures, log, reference }) {
    const laws = scenario.laws.filter((l) => l.figures[measures[0][0]]);
    const index = laws.map((_, i) => i);
    const of = (state) => laws.map((l) => l.figures[state.measure]);
    const known = (runs) => runs.filter((v) => v != null);
    const spread = (state) => {
      const all = of(state).flatMap((f) => known(f.runs));
      return [Math.min(...all), Math.max(...all)];
    };
    const [least, most] = spread({ measure: measures[0][0] });
    const label_width = (texts) => {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = FONT;
      return Math.ceil(Math.max(...texts.map((t) => pen.measureText(t).width))) + 14;
    };
    const names = laws.map((l) => l.law);

    const paint = (chart, state) => {
      const { ctx } = chart, px = devicePixelRatio;
      ctx.save();
      const at = (v) => chart.valToPos(v, "y", true);
      const line = (x1, y1, x2, y2, width) => {
        ctx.lineWidth = width * px;
        ctx.beginPath();
        ctx.moveTo(x1, y1);
        ctx.lineTo(x2, y2);
        ctx.stroke();
      };
      if (reference !== undefined) {
        ctx.strokeStyle = css("--quiet");
        ctx.setLineDash([4 * px, 4 * px]);
        line(at(reference), chart.bbox.top, at(reference), chart.bbox.top + chart.bbox.height, 1);
        ctx.setLineDash([]);
      }
      of(state).forEach((figure, i) => {
        const runs = known(figure.runs).filter((v) => state.scale !== "log" || v > 0);
        if (!runs.length) return;
        const y = chart.valToPos(i, "x", true);
        ctx.globalAlpha = scenario.on.has(names[i]) ? 1 : 0.35;
        ctx.strokeStyle = ctx.fillStyle = css(looks.get(names[i]).colour);
        line(at(Math.min(...runs)), y, at(Math.max(...runs)), y, 1);
        for (const v of runs) {
          ctx.beginPath();
          ctx.arc(at(v), y, 2.5 * px, 0, 2 * Math.PI);
          ctx.fill();
        }
        if (figure.median != null) line(at(figure.median), y - 7 * px, at(figure.median), y + 7 * px, 2);
      });
      ctx.restore();
    };

    figure(scenario, {
      id, title, measures, log, scale: log && most > 8 * least ? "log" : "linear",
      options: (state) => {
        const medians = of(state).map((f) => number(f.median));
        const [min, max] = spread(state);
        return {
          height: 24 * laws.length + 56,
          padding: [8, 0, 0, 0],
          scales: {
            x: { time: false, ori: 1, dir: -1, range: [-0.5, laws.length - 0.5] },
            y: state.scale === "log" ? { ...logarithmic, ori: 0, range: () => logarithmic.range(null, min, max) }
              : { ori: 0, range: () => [0, Math.max(max * 1.04, reference ?? 0) || 1] },
          },
          axes: [
            axis({ side: 3, grid: { show: false }, ticks: { show: false }, size: label_width(names), gap: 10, splits: () => index, values: () => names }),
            axis({ ...(state.scale === "log" && log_axis), side: 2, label: unit, size: 32, values: (_, splits) => splits.map(tick) }),
            axis({ side: 1, scale: "x", grid: { show: false }, ticks: { show: false }, size: label_width(medians), gap: 10, splits: () => index, values: () => medians }),
          ],
          series: [{}, { label: "median", paths: () => null, points: { show: false } }],
          cursor: { show: false },
          hooks: { draw: [(chart) => paint(chart, state)] },
        };
      },
      data: (state) => [index, of(state).map((f) => f.median)],
      head: () => ["law", "median", "p90", ...scenario.seeds.map((seed) => `seed ${seed}`)],
      rows: (state) => of(state).map((f, i) => [names[i], ...[f.median, f.p90, ...f.runs].map(number)]),
    });
  }

  function legend(scenario) {
    const row = element("div", { className: "legend", role: "group", "aria-label": "Laws" });
    const buttons = new Map();
    const show = (laws, on) => {
      for (const law of laws) {
        on ? scenario.on.add(law) : scenario.on.delete(law);
        buttons.get(law).setAttribute("aria-pressed", on);
      }
      for (const draw of scenario.redraws) draw();
    };
    const focus = (law) => {
      for (const { chart } of scenario.charts) {
        const at = chart.series.findIndex((series) => series.label === law);
        if (law === null) chart.setSeries(null, { focus: false });
        else if (at > 0) chart.setSeries(at, { focus: true });
      }
    };
    for (const { law } of scenario.laws) {
      const look = looks.get(law);
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [name, value] of Object.entries({ x1: 0, x2: 24, y1: 6, y2: 6, "stroke-dasharray": look.dash.join(" ") }))
        line.setAttribute(name, value);
      line.style.stroke = `var(${look.colour})`;
      svg.setAttribute("viewBox", "0 0 24 12");
      svg.setAttribute("aria-hidden", true);
      svg.append(line);
      const button = element("button", { type: "button", "aria-pressed": scenario.on.has(law) }, svg, law === scenario.told ? `${law} (knows the limit)` : law);
      button.addEventListener("click", () => show([law], !scenario.on.has(law)));
      button.addEventListener("pointerenter", () => focus(law));
      button.addEventListener("pointerleave", () => focus(null));
      buttons.set(law, button);
      row.append(button);
    }
    const all = scenario.laws.map((l) => l.law);
    for (const [label, on] of [["all", true], ["none", false]]) {
      const button = element("button", { type: "button", className: "plain" }, label);
      button.addEventListener("click", () => show(all, on));
      row.append(button);
    }
    return row;
  }

  function figures_table(scenario) {
    const keys = Object.keys(FIGURES).filter((key) => scenario.laws.some((l) => l.figures[key]));
    const runs = scenario.seeds.length;
    const cell = (f) => {
      if (!f) return "not measured";
      const [median, p90] = [number(f.median), number(f.p90)];
      return p90 === median ? median : `${median} (${p90})`;
    };
    return element("section", { className: "figures" }, element("h3", {}, "All figures"),
      table(runs > 1 ? `Median over ${runs} seeds (90th percentile where it differs)` : `Seed ${scenario.seeds[0]}`,
        ["law", ...keys.map((key) => FIGURES[key]), "all done"],
        scenario.laws.map((l) => [l.law, ...keys.map((key) => cell(l.figures[key])), `${l.finished} of ${runs}`])));
  }

  function seeds_of({ seeds }) {
    if (seeds.length === 1) return `Seed ${seeds[0]}`;
    return seeds.length <= 8 ? `Seeds ${seeds.join(", ")}` : `${seeds.length} seeds, ${seeds[0]} to ${seeds.at(-1)}`;
  }

  const time_of = (l) => l.figures.times_told?.median ?? l.figures.completion?.median ?? Infinity;
  const refused_of = (l) => l.figures.throttled_share?.median ?? Infinity;

  // The laws that no other beats both in time and in refusals, the fastest first; then those that only these beat; and so on.
  function by_front({ laws, told }) {
    const fronts = [];
    let rest = laws.filter((l) => l.law !== told && Number.isFinite(time_of(l)));
    while (rest.length) {
      const beaten = (l) => rest.some((o) => time_of(o) <= time_of(l) && refused_of(o) <= refused_of(l)
        && (time_of(o) < time_of(l) || refused_of(o) < refused_of(l)));
      const front = rest.filter((l) => !beaten(l));
      fronts.push(front.sort((a, b) => time_of(a) - time_of(b)));
      rest = rest.filter((l) => !front.includes(l));
    }
    return fronts;
  }

  // An answer to "which?": of the laws about as fast as the fastest that is no hammerer, the one that is refused least.
  function which(scenario) {
    const front = by_front(scenario)[0] ?? [], told = scenario.laws.find((l) => l.law === scenario.told);
    if (!front.length) return "Which? No law was measured here.";
    const polite = front.filter((l) => refused_of(l) <= HAMMERED), fastest = (polite.length ? polite : front)[0];
    const best = front.filter((l) => time_of(l) <= NEAR * time_of(fastest)).at(-1);
    const words = (l) => `${l.law} (${number(time_of(l))}${told?.figures.times_told ? " times the limit-known sender's time" : " s"}, ${number(refused_of(l))} % refused)`;
    const ours = scenario.laws.find((l) => l.law === report.default_law);
    const hammerer = scenario.laws.filter((l) => l.law !== scenario.told && Number.isFinite(time_of(l)))[0];
    let text = `Which? ${words(best)}`;
    if (ours && ours !== best) text += `; the default law is ${words(ours)}`;
    else if (ours) text += ", the default law";
    if (hammerer && refused_of(hammerer) > HAMMERED && time_of(hammerer) < time_of(best)) text += `. ${words(hammerer)} is faster, by being refused`;
    return `${text}.`;
  }

  // A chart over the values of a swept key: a line for each law.
  function sweep_figure(section, key, scenarios) {
    const values = scenarios.map((s) => s.sweep.find((one) => one.key === key).value);
    const first = scenarios[0], names = first.laws.map((l) => l.law);
    const of = (s, law, measure) => s.laws.find((l) => l.law === law)?.figures[measure]?.median ?? null;
    const shown = new Set(scenarios.flatMap((s) => [...s.on]));
    const holder = { ...first, id: `sweep-${section.id}`, on: shown, plots: element("div", { className: "plots" }), redraws: [], charts: [] };
    section.append(holder.plots);
    const index = values.map((_, i) => i), drawn = names.filter((law) => shown.has(law));
    for (const [id, title, measure, unit] of [["time", "Time", "times_told", "÷ the limit-known sender's"], ["throttled", "Throttled", "throttled_share", "% of attempts"]])
      figure(holder, {
        id, title: `${title} over ${key}`, measures: [[measure, title.toLowerCase()]], log: measure === "times_told",
        scale: measure === "times_told" && wide(scenarios.flatMap((s) => drawn.map((law) => of(s, law, measure)))) ? "log" : "linear",
        options: (state) => ({
          height: 300,
          scales: { x: { time: false, range: [-0.2, values.length - 0.8] }, y: state.scale === "log" ? logarithmic : { range: (_, min, max) => [0, max > 0 ? max * 1.04 : 1] } },
          axes: [axis({ label: key, size: 32, splits: () => index, values: () => values }),
            axis({ ...(state.scale === "log" && log_axis), label: unit, values: (_, splits) => splits.map(tick), size: 60 })],
          padding: [8, 12, 0, 0],
          series: [{}, ...drawn.map((law) => ({ label: law, width: 1.5, dash: looks.get(law).dash, stroke: () => css(looks.get(law).colour), points: { show: true, size: 5 } }))],
          cursor: { y: false },
        }),
        data: () => [index, ...drawn.map((law) => scenarios.map((s) => of(s, law, measure)))],
        head: () => [key, ...names],
        rows: () => scenarios.map((s, i) => [values[i], ...names.map((law) => number(of(s, law, measure)))]),
      });
    const row = element("p", { className: "quiet" });
    for (const law of drawn) {
      const swatch = element("span", { className: "swatch" }, `${law} `);
      swatch.style.borderBottom = `2px ${looks.get(law).dash.length ? "dashed" : "solid"} var(${looks.get(law).colour})`;
      row.append(swatch, " ");
    }
    section.append(row);
  }
  const wide = (values) => {
    const known = values.filter((v) => v > 0);
    return Math.max(...known) > 8 * Math.min(...known);
  };

  // The scenarios that differ in one swept key alone, each such row once, before all of them.
  function show_sweeps() {
    const rows = new Map();
    for (const s of report.scenarios)
      for (const { key } of s.sweep ?? []) {
        const rest = s.sweep.filter((one) => one.key !== key).map((one) => `${one.key}=${one.value}`).join(" ");
        const name = `${s.name} ${rest}\0${key}`;
        rows.set(name, [...(rows.get(name) ?? []), s]);
      }
    const before = document.getElementById("scenarios");
    [...rows].filter(([, all]) => all.length > 1).reverse().forEach(([name, all], i) => {
      const [what, key] = name.split("\0");
      const section = element("section", { className: "scenario", id: `over${i}` }, element("h2", {}, `${what.trim()} over ${key}`));
      before.prepend(section);
      sweep_figure(section, key, all);
    });
  }

  function show_scenario(scenario, i) {
    const rank = (l) => l.figures.times_told?.median ?? Infinity;
    scenario.laws.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
    const best = by_front(scenario).flat().filter((l) => scenario.laws.length <= SHOWN_MAX || refused_of(l) <= HAMMERED).map((l) => l.law);
    const ours = scenario.laws.filter((l) => l.law === report.default_law).map((l) => l.law);
    const at_first = [...new Set([...ours, ...best])].slice(0, SHOWN_MAX - 1);
    Object.assign(scenario, {
      id: `s${i}`, on: new Set([...at_first, scenario.told]),
      plots: element("div", { className: "plots" }), redraws: [], charts: [],
    });
    const few = scenario.on.size < scenario.laws.length;
    const title = element("h2", { id: `${scenario.id}-title` }, scenario.title);
    const section = element("section", { className: "scenario", id: scenario.id, "aria-labelledby": title.id }, title);
    if (scenario.about) section.append(element("p", {}, scenario.about));
    section.append(
      element("p", { className: "quiet" }, `${seeds_of(scenario)}. `
        + `Laws in the order of their time; press one to hide or show its curves${few ? "; at first the default law, the limit-known sender, and the best by time and refusals" : ""}.`),
      element("p", { className: "which" }, which(scenario)),
      legend(scenario), scenario.plots);
    document.getElementById("scenarios").append(section);

    const lines = scenario.laws.filter((l) => l.line);
    if (lines.length) {
      time_figure(scenario, {
        id: "rate", title: "Requests per second", unit: "per second", log: true,
        measures: [["attempts", "attempts"], ["accepted", "accepted"], ["throttled", "throttled"], ["failed", "failed"]],
      });
      const windows = lines.some((l) => l.line.window.some((v) => v != null));
      time_figure(scenario, {
        id: "window", title: "Window", unit: "requests",
        measures: [...(windows ? [["window", "allowed out"]] : []), ["in_flight", "in flight"],
          ...(lines.some((l) => l.line.ssthresh?.some((v) => v != null)) ? [["ssthresh", "ssthresh"]] : [])],
      });
      if (lines.some((l) => l.delays?.some((v) => v > 0))) delay_figure(scenario, lines);
    }
    if (scenario.laws.some((l) => l.figures.times_told))
      dots_figure(scenario, {
        id: "time", title: "Time for the work", unit: "÷ the limit-known sender's", log: true, reference: 1,
        measures: [["times_told", "time ÷ limit-known"]],
      });
    dots_figure(scenario, {
      id: "throttled", title: "Throttled", unit: "% of attempts", measures: [["throttled_share", "share of attempts"]],
    });
    section.append(figures_table(scenario));
  }

  if (report.command) {
    document.title = report.command;
    const command = document.getElementById("command");
    command.firstChild.textContent = report.command;
    command.hidden = false;
  }
  if (report.scenarios.length > 1) {
    const contents = document.getElementById("contents");
    contents.append(element("ul", {}, ...report.scenarios.map(({ title }, i) =>
      element("li", {}, element("a", { href: `#s${i}` }, title)))));
    contents.hidden = false;
  }
  report.scenarios.forEach(show_scenario);
  show_sweeps();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((draw) => draw()));
})();
