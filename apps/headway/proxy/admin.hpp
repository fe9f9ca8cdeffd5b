/// The admin address: what the proxy shows of itself, and nothing that changes it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/listener.hpp"

namespace headway::app::proxy {

struct admin_page {
  int status = 200;
  std::string type, body;
};

/// Answers GET and HEAD of the pages that it is given, guarded against other sites and, with a
/// token, against all requests that do not show it.
class admin {
 public:
  using pages = std::function<std::optional<admin_page>(std::string_view path)>;
  /// Errors: fatal(exit_usage) where it cannot listen there.
  admin(asio::io_context&, address const&, std::vector<std::string> names, std::string token,
        pages);

  /// Other names and another token from now on.
  void guard(std::vector<std::string> names, std::string token) {
    names_ = std::move(names);
    token_ = std::move(token);
  }
  void accept() { listener_.accept(); }
  void close() { listener_.close(); }
  address bound() const { return listener_.bound(); }

 private:
  class visit;

  std::vector<std::string> names_;
  std::string token_;
  pages pages_;
  std::shared_ptr<std::list<visit*>> open_ = std::make_shared<std::list<visit*>>();  // oldest first
  listener listener_;
};

}  // namespace headway::app::proxy
