"use strict";
// What the pages share.
const FONT = "12px system-ui, sans-serif";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    name in made ? (made[name] = value) : made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const number = (v) => (v == null ? "–" : Math.abs(v) >= 100 ? whole.format(v) : short.format(v));

const tick = (v) => (v == null ? "" : Math.abs(v) >= 1e4 ? `${number(v / 1000)}k` : String(+v.toPrecision(6)));

function table(caption, head, rows) {
  const cells = (row) => row.map((cell, i) => (i ? element("td", {}, cell) : element("th", { scope: "row" }, cell)));
  const body = element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head.map((h) => element("th", { scope: "col" }, h)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))));
  return element("div", { className: "numbers", tabIndex: 0, role: "region", "aria-label": caption }, body);
}

const axis = (more) => ({
  stroke: () => css("--ink"), font: FONT, labelFont: FONT, labelSize: 20, labelGap: 0,
  grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1, size: 4 }, ...more,
});
