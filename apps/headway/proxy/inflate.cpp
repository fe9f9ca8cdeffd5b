#include "proxy/inflate.hpp"

#include "base/inflater.hpp"

namespace headway::app::proxy {

std::string inflated(std::string_view body, std::string_view coding, std::size_t most) {
  if (!inflater::reads(coding)) return std::string(body);
  std::string text;
  inflater(coding).take(body, [&](std::string_view part) {
    text += part.substr(0, most - text.size());
    return text.size() < most;
  });
  return text;
}

}  // namespace headway::app::proxy
