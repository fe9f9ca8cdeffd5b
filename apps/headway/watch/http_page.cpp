#include "watch/http_page.hpp"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/address.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

namespace beast = boost::beast::http;

/// "[::1]:9464" is "::1".
std::string without_port(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.rfind(':')));
}

listener::reply reply_of(std::size_t bytes, std::string_view status, std::string_view type,
                         std::string_view body, bool with_body = true) {
  return {.bytes = bytes,
          .text = fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                              "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{}",
                              status, type, body.size(), with_body ? body : ""),
          .last = true};
}

}  // namespace

std::optional<listener::reply> http_page::answer(std::string_view said) const {
  beast::request_parser<beast::empty_body> parser;
  boost::beast::error_code error;
  parser.eager(false);
  auto const bytes = parser.put(boost::asio::buffer(said), error);
  if (error == beast::error::need_more) return std::nullopt;
  auto const refuse = [&](std::string_view status) {
    return reply_of(said.size(), status, "text/plain", "");
  };
  if (error) return refuse("400 Bad Request");
  auto const& request = parser.get();
  auto const field = request[beast::field::host];
  auto const name = lower(without_port({field.data(), field.size()}));
  if (name != "localhost" && name != lower(host) && !is_address(name))
    return refuse("421 Misdirected Request");
  auto const head = request.method() == beast::verb::head;
  if (!head && request.method() != beast::verb::get) return refuse("405 Method Not Allowed");
  auto const target = std::string_view(request.target().data(), request.target().size());
  if (target.substr(0, target.find('?')) != path) return refuse("404 Not Found");
  return reply_of(bytes, "200 OK", type, text(), !head);
}

}  // namespace headway::app
