#include "run/shared_options.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <stdexcept>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/url.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t version = 1;

std::string as_json(std::string_view text) {
  if (!simdjson::validate_utf8(text.data(), text.size()))
    throw fatal(exit_usage,
                "--fleet tells other hosts of --url, --body and the header of a CSV; "
                "want them in UTF-8");
  return json_string(text);
}

std::string list_of(std::vector<std::string> const& texts) {
  std::string all;
  for (auto const& text : texts) all += (all.empty() ? "" : ",") + as_json(text);
  return "[" + all + "]";
}

/// As --price has it.
std::string text_of(price const& p) {
  std::string text;
  for (auto const& [name, of_one] : p.parts)
    text += fmt::format("{}{}={}", text.empty() ? p.name + ':' : ",", name, of_one);
  return text;
}

std::string text_of(simdjson::dom::element e) {
  return std::string(std::string_view(e));
}

std::vector<std::string> texts_of(simdjson::dom::element e) {
  std::vector<std::string> all;
  for (auto const one : simdjson::dom::array(e)) all.push_back(text_of(one));
  return all;
}

}  // namespace

std::string shared_text(run_options const& o, std::string_view preface) {
  std::vector<std::string> select;
  for (auto const& s : o.select) {
    select.push_back(s.name);
    select.push_back(s.pointer);
  }
  std::vector<std::string> prices;
  for (auto const& p : o.prices) prices.push_back(text_of(p));
  auto const body = body_of(o);
  return fmt::format(
      R"({{"version":{},"base_url":{},"url":{},"body":{},"method":{},"vegeta":{},"id":{},"meta":{},)"
      R"("select":{},"out_headers":{},"ok":{},"profile":{},"retry_unsafe":{},"prices":{},"preface":{}}})",
      version, as_json(o.base_url), as_json(o.url), body ? as_json(*body) : "null",
      as_json(o.method), o.format == line_format::vegeta, as_json(o.id), list_of(o.meta),
      list_of(select), o.out_headers, as_json(o.ok_text), as_json(o.speaks ? o.speaks->name() : ""),
      o.retry_unsafe, list_of(prices), as_json(preface));
}

shared_lines adopt(run_options& o, std::string_view text) {
  try {
    simdjson::dom::parser parser;
    auto const m = parse_object(parser, text);
    if (std::int64_t(m["version"]) != version) throw std::invalid_argument("another version");
    shared_lines lines;
    auto& l = lines.options;
    l.base_url = text_of(m["base_url"]);
    l.url = text_of(m["url"]);
    if (!m["body"].is_null()) l.body = text_of(m["body"]);
    l.method = text_of(m["method"]);
    l.format = bool(m["vegeta"]) ? line_format::vegeta : line_format::automatic;
    l.id = text_of(m["id"]);
    l.meta = texts_of(m["meta"]);
    l.folder = "/dev/null";  // below which there is no file
    lines.preface = text_of(m["preface"]);
    o.select.clear();
    auto const select = texts_of(m["select"]);
    for (std::size_t i = 0; i + 1 < select.size(); i += 2)
      o.select.push_back({select[i], select[i + 1]});
    o.out_headers = bool(m["out_headers"]);
    o.retry_unsafe = bool(m["retry_unsafe"]);
    o.ok = statuses::parse(text_of(m["ok"]));
    o.prices.clear();
    for (auto const& one : texts_of(m["prices"])) o.prices.push_back(parse_price(one));
    if (auto const name = text_of(m["profile"]); !name.empty()) {
      auto const known = profile::names();
      if (std::ranges::find(known, name) == known.end())
        throw std::invalid_argument("it names the profile " + in_quotes(name));
      o.speaks = profile::named(name);
    }
    l.computes = [speaks = o.speaks](job const& j) {
      auto const& p = speaks ? *speaks : profile::of_host(host_of(j.origin));
      return p.computes(j.method, j.url);
    };
    return lines;
  } catch (std::exception const& why) {  // simdjson's and ours
    throw fatal(exit_usage, fmt::format("the options of the queue are not this headway's ({}): it "
                                        "was uploaded by another version",
                                        printable(why.what())));
  }
}

}  // namespace headway::app
