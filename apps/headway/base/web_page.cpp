#include "base/web_page.hpp"

namespace headway::app {

std::string web_page::around(std::string_view json) const {
  std::string page;
  page.reserve(head.size() + json.size() + tail.size());
  page = head;
  for (char const c : json) {
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  }
  return page.append(tail);
}

}  // namespace headway::app
