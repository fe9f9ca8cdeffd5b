/// Where libcurl sends a URL, by what it writes.
#pragma once

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace headway::app {

/// A proxy that hears one request a connection: libcurl tells a proxy to which server each goes.
class listening_proxy {
 public:
  listening_proxy() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    socklen_t size = sizeof here;
    if (bind(socket_, address, size) != 0 || listen(socket_, 16) != 0 ||
        getsockname(socket_, address, &size) != 0)
      throw std::runtime_error("no socket to listen at");
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(here.sin_port));
  }
  ~listening_proxy() { close(socket_); }
  listening_proxy(listening_proxy const&) = delete;
  listening_proxy& operator=(listening_proxy const&) = delete;

  /// The first line that libcurl writes to send `url`, as transport does; "" if it writes none.
  std::string hears(std::string const& url) {
    std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> const easy(curl_easy_init(),
                                                                   curl_easy_cleanup);
    std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> const multi(curl_multi_init(),
                                                                      curl_multi_cleanup);
    auto* const h = easy.get();
    curl_easy_setopt(h, CURLOPT_URL, url.c_str());
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_PROXY, url_.c_str());
    curl_easy_setopt(h, CURLOPT_NOPROXY, "");
    curl_multi_add_handle(multi.get(), h);
    std::string heard;
    auto end = heard.npos;
    int peer = -1;
    for (int tries = 0, running = 1; tries < 5'000 && running > 0 && end == heard.npos; ++tries) {
      curl_multi_perform(multi.get(), &running);
      if (peer < 0) peer = accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK);
      std::array<char, 4096> block;
      for (ssize_t n = 0; peer >= 0 && (n = read(peer, block.data(), block.size())) > 0;)
        heard.append(block.data(), static_cast<std::size_t>(n));
      end = heard.find("\r\n");
      if (end == heard.npos && running > 0) curl_multi_poll(multi.get(), nullptr, 0, 1, nullptr);
    }
    if (peer >= 0) {
      linger const at_once{1, 0};  // leaves no port in TIME_WAIT
      setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      close(peer);
    }
    curl_multi_remove_handle(multi.get(), h);
    return heard.substr(0, end);
  }

 private:
  int socket_;
  std::string url_;
};

/// "https://host:port" that libcurl sends `url` to, in lower case and addresses canonical; "" if it
/// sends it nowhere.
inline std::string where_libcurl_sends(std::string const& url) {
  static listening_proxy proxy;
  auto const line = proxy.hears(url);  // GET http://HOST/…, or CONNECT HOST:PORT
  std::string scheme = "https", authority;
  if (line.starts_with("CONNECT ")) {
    authority = line.substr(8, line.find(' ', 8) - 8);
  } else if (line.starts_with("GET http://")) {
    scheme = "http";
    authority = line.substr(11, line.find_first_of("/? ", 11) - 11);
  } else {
    return line;
  }
  auto const mark = authority.find(':', authority.find(']') + 1);  // npos + 1 == 0
  auto host = lower(authority.substr(0, mark));
  auto const port = mark == authority.npos ? "80" : authority.substr(mark + 1);
  if (host.starts_with('[')) {
    in6_addr address{};
    std::array<char, INET6_ADDRSTRLEN> canonical{};
    if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) != 1) return line;
    host =
        std::string("[") + inet_ntop(AF_INET6, &address, canonical.data(), canonical.size()) + ']';
  }
  return scheme + "://" + host + ':' + port;
}

}  // namespace headway::app
