// Inlines uPlot and ours into one page, and that into a C++ source.
// usage: node build.mjs NODE_MODULES OUT.cpp   (in this folder)
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [modules, out] = process.argv.slice(2);
const text = (file) => readFileSync(new URL(file, import.meta.url), "utf8");
const uplot = (file) => readFileSync(`${modules}/uplot/${file}`, "utf8");

const style = uplot("dist/uPlot.min.css") + text("report.css");
const script = `/*! uPlot: ${uplot("LICENSE").trim()} */\n` + uplot("dist/uPlot.iife.min.js") + text("report.js");
const hash = (inline) => `'sha256-${createHash("sha256").update(inline).digest("base64")}'`;
const policy = `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}`;

if (script.includes("</script") || style.includes("</style")) throw Error("would end its own element");
const parts = { policy, style, script };
const page = text("report.html").replace(/@(policy|style|script)@/g, (_, name) => parts[name]);

// Bytes, not a string literal: compilers need not take one that is longer than 65,536.
const [head, tail] = page.split("@data@").map((part) => [...Buffer.from(part)]);
const array = (name, bytes) => `
static constexpr unsigned char ${name}_bytes[] = {${bytes.join(",")}};
std::string_view const ${name}{reinterpret_cast<char const*>(${name}_bytes), sizeof ${name}_bytes};
`;
writeFileSync(out, `#include "page/page_text.hpp"
namespace headway::app {${array("page_head", head)}${array("page_tail", tail)}}
`);
