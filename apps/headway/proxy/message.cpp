#include "proxy/message.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>

#include "base/text.hpp"

namespace headway::app::proxy {
namespace {

std::string_view plain(beast::string_view s) noexcept {
  return {s.data(), s.size()};
}

constexpr std::string_view blank_line = "\r\n\r\n";
constexpr std::size_t chunk_line_max = 4096;
constexpr std::size_t status_end = 12;  // "HTTP/1.1 200"; some say no more, others want a space

/// A line feed without its carriage return, or the other way round, is read differently by
/// different servers. `from`: where to begin to look.
bool has_bare_break(std::string_view text, std::size_t from) noexcept {
  for (auto at = text.find('\n', from); at != text.npos; at = text.find('\n', at + 1))
    if (at == 0 || text[at - 1] != '\r') return true;
  for (auto at = text.find('\r', from); at != text.npos; at = text.find('\r', at + 1))
    if (at + 1 < text.size() && text[at + 1] != '\n') return true;  // else the rest has not come
  return false;
}

/// A field that goes on in the next line (RFC 9112 §5.2): a server's becomes one line, a client's
/// is refused.
bool unfold(std::string& text) noexcept {
  bool folded = false;
  for (auto at = text.find("\r\n"); at + 2 < text.size(); at = text.find("\r\n", at + 2))
    if (text[at + 2] == ' ' || text[at + 2] == '\t') {
      text[at] = text[at + 1] = text[at + 2] = ' ';
      folded = true;
    }
  return folded;
}

}  // namespace

std::optional<std::string_view> head::find(std::string_view name) const noexcept {
  for (auto const& f : fields)
    if (equal_ignoring_case(f.name, name)) return f.value;
  return std::nullopt;
}

std::size_t head::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields, [&](auto const& f) { return equal_ignoring_case(f.name, name); }));
}

bool lists_token(std::string_view list, std::string_view token) noexcept {
  while (!list.empty()) {
    auto const end = std::min(list.find(','), list.size());
    if (equal_ignoring_case(trimmed(list.substr(0, end)), token)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

template <bool IsRequest>
message_reader<IsRequest>::message_reader() {
  this->header_limit(std::numeric_limits<std::uint32_t>::max());  // feed() has its own
  this->body_limit(boost::none);
  this->eager(true);
  start.fields.reserve(16);
}

template <bool IsRequest>
std::size_t message_reader<IsRequest>::feed(std::string_view bytes, error_code& e) {
  e = {};
  if (has_head_) {
    std::size_t used = 0;
    while (used < bytes.size() && !this->is_done() && !e) {
      auto const n = this->put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), e);
      used += n;
      if (n == 0 && !e) break;
    }
    if (e != beast::http::error::need_more) return used;
    e = {};
    auto const rest = bytes.substr(used);
    if (rest.find("\r\n", 1) == rest.npos) {  // the end of the chunk before may begin it
      if (rest.size() > chunk_line_max) e = beast::http::error::bad_chunk;
    } else if (rest.size() > head_bytes_max) {  // trailers, which are read whole
      refuse_long(e);
    }
    return used;
  }
  auto& text = start.text;
  auto const before = text.size();
  auto const from = before > 3 ? before - 3 : 0;
  text.append(bytes);
  auto const end = text.find(blank_line, from);
  auto const whole = end != text.npos;
  if (whole) text.resize(end + blank_line.size());
  if (text.size() > head_bytes_max) return refuse_long(e), 0;
  // What begins with neither a method nor a version, TLS for one, may never have an end.
  if (has_bare_break(text, from) || (!text.empty() && !is_alphanumeric(text[0]))) {
    e = beast::http::error::bad_value;
    return 0;
  }
  auto const used = text.size() - before;
  if (!whole) return used;
  text.shrink_to_fit();
  if (unfold(text) && IsRequest) {
    e = beast::http::error::bad_obs_fold;
    return used;
  }
  has_head_ = true;
  if (!IsRequest && text.find("\r\n") == status_end) text.insert(status_end, 1, ' ');
  this->put(boost::asio::buffer(text), e);
  if (e == beast::http::error::need_more && this->is_header_done()) e = {};
  return used;
}

template <bool IsRequest>
void message_reader<IsRequest>::end(error_code& e) {
  e = {};
  if (!has_head_) {
    e = beast::http::error::partial_message;
    return;
  }
  if (!this->is_done()) this->put_eof(e);
}

template <bool IsRequest>
void message_reader<IsRequest>::on_request_impl(beast::http::verb, view method, view target,
                                                int version, error_code&) {
  start.method = plain(method);
  start.target = plain(target);
  start.version = version;
}

template <bool IsRequest>
void message_reader<IsRequest>::on_response_impl(int status, view reason, int version,
                                                 error_code&) {
  start.status = status;
  start.reason = plain(reason);
  start.version = version;
}

template <bool IsRequest>
void message_reader<IsRequest>::on_field_impl(beast::http::field, view name, view value,
                                              error_code& e) {
  if (!has_fields_)
    start.fields.push_back({plain(name), plain(value)});
  else if ((trailers_ += name.size() + value.size() + 4) > head_bytes_max)
    refuse_long(e);
}

template <bool IsRequest>
void message_reader<IsRequest>::refuse_long(error_code& e) {
  too_long_ = true;
  e = beast::http::error::header_limit;
}

template <bool IsRequest>
std::size_t message_reader<IsRequest>::on_body_impl(view bytes, error_code&) {
  body.append(bytes.data(), bytes.size());
  return bytes.size();
}

template <bool IsRequest>
std::size_t message_reader<IsRequest>::on_chunk_body_impl(std::uint64_t, view bytes, error_code&) {
  body.append(bytes.data(), bytes.size());
  return bytes.size();
}

template class message_reader<true>;
template class message_reader<false>;

}  // namespace headway::app::proxy
