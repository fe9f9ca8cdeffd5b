// Inlines uPlot, common.* and NAME.* into one page, and that into a C++ source: NAME_page.
// usage: node build.mjs NODE_MODULES NAME OUT.cpp   (in this folder)
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [modules, name, out] = process.argv.slice(2);
const text = (file) => readFileSync(new URL(file, import.meta.url), "utf8");
const uplot = (file) => readFileSync(`${modules}/uplot/${file}`, "utf8");

const style = uplot("dist/uPlot.min.css") + text("common.css") + text(`${name}.css`);
const script = `/*! uPlot: ${uplot("LICENSE").trim()} */\n` + uplot("dist/uPlot.iife.min.js") + text("common.js") + text(`${name}.js`);
const hash = (inline) => `'sha256-${createHash("sha256").update(inline).digest("base64")}'`;
const policy = `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}`;

if (script.includes("</script") || style.includes("</style")) throw Error("would end its own element");
const parts = { policy, style, script };
const page = text(`${name}.html`).replace(/@(policy|style|script)@/g, (_, part) => parts[part]);

// Bytes, not a string literal: compilers need not take one that is longer than 65,536.
const [head, tail] = page.split("@data@").map((part) => [...Buffer.from(part)]);
const array = (part, bytes) => `constexpr unsigned char ${part}[] = {${bytes.join(",")}};`;
const view = (part) => `{reinterpret_cast<char const*>(${part}), sizeof ${part}}`;
writeFileSync(out, `#include "base/web_page.hpp"
namespace headway::app {
namespace {
${array("head", head)}
${array("tail", tail)}
}
extern web_page const ${name}_page;
web_page const ${name}_page{${view("head")}, ${view("tail")}};
}
`);
