#include "client/transport.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "base/inflater.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "client/answer_head.hpp"

namespace headway::app {
namespace {

long whole_milliseconds(duration d) {
  return static_cast<long>(std::clamp<std::int64_t>(
      std::chrono::ceil<std::chrono::milliseconds>(d).count(), 1, 1L << 40));
}

/// A signature is over the parameters in order, each with its `=`; libcurl signs them as they are.
std::string with_sorted_query(std::string_view url) {
  auto const begin = url.find('?');
  if (begin == url.npos) return std::string(url);
  auto const end = std::min(url.find('#', begin), url.size());
  std::vector<std::string> parameters;
  for (auto rest = url.substr(begin + 1, end - begin - 1); !rest.empty();) {
    auto const one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    parameters.emplace_back(one);
    if (one.find('=') == one.npos) parameters.back() += '=';
  }
  std::ranges::sort(parameters);
  std::string sorted(url.substr(0, begin));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    sorted.append(i == 0 ? "?" : "&").append(parameters[i]);
  return sorted;
}

// RFC 9113 §7
constexpr std::uint32_t enhance_your_calm = 11;
constexpr std::uint32_t http_1_1_required = 13;

constexpr std::size_t read_max = 100 * CURL_MAX_WRITE_SIZE;  // by libcurl, of one answer at once
constexpr std::size_t head_body_max = 64 * 1024;             // of a body that may tell of its head
constexpr std::size_t origins_max = 1000;  // that are remembered for their HTTP version

/// The number behind the last of these words, each searched for behind the one before.
template <class... Words>
std::optional<std::uint32_t> number_after(std::string_view text, Words... words) {
  for (std::string_view const word : {words...}) {
    auto const at = text.find(word);
    if (at == text.npos) return std::nullopt;
    text.remove_prefix(at + word.size());
  }
  std::uint32_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() ? std::optional(n) : std::nullopt;
}

/// The proxy that there was no connection to, as libcurl's words of it tell, as " by the proxy
/// HOST:PORT"; "" where it was the server.
std::string by_proxy(std::string_view words, std::string_view url) {
  constexpr std::string_view to = "Failed to connect to ", port = " port ";
  auto const at = words.find(port);
  if (!words.starts_with(to) || at == words.npos) return "";
  auto const host = words.substr(to.size(), at - to.size());
  auto const number = number_after(words.substr(at), port);
  auto const origin = destination_of(std::string(url)).origin;
  if (!number || origin.ends_with(fmt::format("//{}:{}", host, *number)) ||
      origin.ends_with(fmt::format("//[{}]:{}", host, *number)))
    return "";
  return fmt::format(" by the proxy {}:{}", host, *number);
}

/// What kept a request from being sent, in plain words; "" where libcurl's must do. `error`: the
/// system's, of the last connection that failed.
std::string obstacle_of(CURLcode code, long error) {
  if (code == CURLE_COULDNT_RESOLVE_HOST) return "name not found";
  if (code == CURLE_COULDNT_RESOLVE_PROXY) return "name of the proxy not found";
  if (code == CURLE_PEER_FAILED_VERIFICATION) return "certificate refused";
  if (code == CURLE_OPERATION_TIMEDOUT) return "no connection in time";
  if (code == CURLE_COULDNT_CONNECT && error != 0) {
    std::string words = std::strerror(static_cast<int>(error));
    return lower(words);
  }
  return "";
}

bool environment_has_a_proxy() {
  constexpr std::array names = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                "ALL_PROXY"};
  return std::ranges::any_of(names, [](auto* name) { return std::getenv(name) != nullptr; });
}

// What inflater reads.
constexpr char encodings[] = "deflate, gzip";

}  // namespace

class transport::impl {
 public:
  impl(poller& events, transport_options options, head on_head, done on_done)
      : poller_(events),
        options_(std::move(options)),
        head_(std::move(on_head)),
        done_(std::move(on_done)) {
    static bool const initialised = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    multi_ = initialised ? curl_multi_init() : nullptr;
    if (multi_ == nullptr) throw std::runtime_error("libcurl cannot be initialised");
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 10'000L);
    // The server says how many, else it is libcurl's 100. Beyond that, libcurl 7.88 opens a
    // connection for each.
    curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 10'000L);
  }

  ~impl() {
    // What libcurl says of sockets while it closes them is of no use any more.
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
    for (auto const& e : exchanges_) {
      curl_multi_remove_handle(multi_, e->easy);
      curl_easy_cleanup(e->easy);
      curl_slist_free_all(e->headers);
    }
    curl_multi_cleanup(multi_);
  }

  void send(std::uint64_t key, attempt const& a) {
    auto& e = idle_exchange();
    e.key = key;
    e.body.clear();
    e.too_large = false;
    e.error[0] = '\0';
    e.crowded_out = false;
    e.packed = 0;
    e.unpacks.reset();
    e.sending = e.unread = a.body.value_or(std::string_view{});
    sending_ += e.sending.size();
    e.sent = e.died = e.unsent = e.refused = e.calm = false;
    e.stream = 0;
    e.sequence = ++sends_;
    e.open = true;
    e.heard = false;
    e.socket = -1;
    e.early.clear();
    prepare(e, a);
    curl_multi_add_handle(multi_, e.easy);
  }

  bool ready(poller::event const& e) {
    auto const index = static_cast<std::size_t>(e.fd);
    if (index >= sockets_.size() || !sockets_[index].ours) return false;
    // An idle connection: closed by the server, most likely; or by libcurl, since the poller told.
    if (sockets_[index].wanted == 0) {
      poller_.unwatch(e.fd);
      return true;
    }
    int action = 0;
    if (e.events & (EPOLLIN | EPOLLHUP)) action |= CURL_CSELECT_IN;
    if (e.events & EPOLLOUT) action |= CURL_CSELECT_OUT;
    if (e.events & EPOLLERR) action |= CURL_CSELECT_ERR;
    int running = 0;
    curl_multi_socket_action(multi_, e.fd, action, &running);
    pause_the_crowd();
    return true;
  }

  void flush(std::function<bool()> const& has_room) {
    if (clock_now() >= timer_) {
      timer_ = never;
      int running = 0;
      curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
      pause_the_crowd();
    }
    take_ended();
    for (; !ended_.empty() && has_room(); ended_.pop_front())
      finish(*ended_.front().first, ended_.front().second);
    tell_heads();
    resume();
  }

  std::size_t body_bytes() const noexcept { return sending_ + received_; }

  time_point wakeup() const noexcept { return timer_; }

 private:
  struct exchange {
    CURL* easy = nullptr;
    std::uint64_t key = 0;
    std::uint64_t sequence = 0;  // of all sends
    std::string body;
    std::string_view sending;  // the request's body
    std::string_view unread;   // what of it has not been sent
    bool sent = false;         // perhaps not all of it
    bool died = false;         // it was sent, nothing came back, and libcurl would send it again
    bool unsent = false;       // and not a byte of it could be written
    bool refused = false;      // the server says that it has not acted on it
    bool calm = false;         // and that there is too much of it
    std::string connection;    // both of its ends, over TLS
    std::uint32_t stream = 0;  // 0: it is not HTTP/2, as far as we know
    bool open = false;         // it has no end yet
    bool heard = false;        // the head of its answer was told, or needs not be
    bool news = false;         // it is in news_
    answer_head head;
    int socket = -1;    // that it is sent to
    std::string early;  // what had come there when it was closed
    curl_slist* headers = nullptr;
    std::size_t body_max = 0;
    bool too_large = false;
    bool crowded_out = false;         // its body broke off for want of room
    std::size_t packed = 0;           // bytes of its body before decompression
    std::optional<inflater> unpacks;  // where it is compressed, and we can
    bool paused = false;              // read no further, as it is in crowd_
    impl* owner = nullptr;
    std::string url, method;
    std::array<char, CURL_ERROR_SIZE> error{};

    void add(std::string const& line) { headers = curl_slist_append(headers, line.c_str()); }
  };
  struct socket_state {
    bool ours = false;
    std::uint32_t wanted = 0;
    exchange* user = nullptr;  // the last one
  };

  exchange& idle_exchange() {
    if (idle_.empty()) {
      auto e = std::make_unique<exchange>();
      e->body_max = options_.body_max;
      e->owner = this;
      make_handle(*e);
      exchanges_.push_back(std::move(e));
      return *exchanges_.back();
    }
    auto& e = *idle_.back();
    idle_.pop_back();
    return e;
  }

  void make_handle(exchange& e) const {
    auto* const h = e.easy = curl_easy_init();
    if (h == nullptr) throw std::runtime_error("libcurl is out of memory");
    curl_easy_setopt(h, CURLOPT_PRIVATE, &e);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);  // a line is sent as it is written
    // libcurl 7.88 takes a compressed body that was cut off for a whole one.
    curl_easy_setopt(h, CURLOPT_ACCEPT_ENCODING, encodings);
    curl_easy_setopt(h, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    if (signs()) curl_easy_setopt(h, CURLOPT_USERAGENT, options_.user_agent.c_str());
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, whole_milliseconds(options_.connect_timeout));
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, e.error.data());
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, &e);
    curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(h, CURLOPT_HEADERDATA, &e);
    curl_easy_setopt(h, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(h, CURLOPT_READDATA, &e);
    curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(h, CURLOPT_SEEKDATA, &e);
    curl_easy_setopt(h, CURLOPT_PREREQFUNCTION, on_request);
    curl_easy_setopt(h, CURLOPT_PREREQDATA, &e);
    curl_easy_setopt(h, CURLOPT_DEBUGFUNCTION, on_text);
    curl_easy_setopt(h, CURLOPT_DEBUGDATA, &e);
    curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(h, CURLOPT_OPENSOCKETDATA, &e);
    curl_easy_setopt(h, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(h, CURLOPT_CLOSESOCKETDATA, this);
    if (signs()) {
      curl_easy_setopt(h, CURLOPT_AWS_SIGV4, options_.sigv4.c_str());
      curl_easy_setopt(h, CURLOPT_USERPWD, options_.sigv4_key.c_str());
    }
    if (!has_proxy_) curl_easy_setopt(h, CURLOPT_PROXY, "");  // else it asks for each request
    curl_easy_setopt(h, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});  // RFC 8996
    if (!options_.ca_file.empty()) curl_easy_setopt(h, CURLOPT_CAINFO, options_.ca_file.c_str());
  }

  bool signs() const noexcept { return !options_.sigv4.empty(); }

  void prepare(exchange& e, attempt const& a) {
    auto* const h = e.easy;
    if (signs())
      e.url = with_sorted_query(a.url);
    else
      e.url.assign(a.url);
    curl_easy_setopt(h, CURLOPT_URL, e.url.c_str());
    // Over TLS it waits for a connection that HTTP/2 can share; over plain HTTP it would wait for
    // the first answer.
    curl_easy_setopt(h, CURLOPT_PIPEWAIT, a.url.starts_with("https:") ? 1L : 0L);

    if (signs() && !a.body) {  // else it would sign the body that this handle sent last
      curl_easy_setopt(h, CURLOPT_POSTFIELDS, nullptr);
      curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, 0L);
    }
    if (a.body) {
      curl_easy_setopt(h, CURLOPT_POST, 1L);
      // A signature covers the body, so libcurl must see all of it.
      curl_easy_setopt(h, CURLOPT_POSTFIELDS, signs() ? a.body->data() : nullptr);
      curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(a.body->size()));
    } else if (a.method == "HEAD") {
      curl_easy_setopt(h, CURLOPT_NOBODY, 1L);
    } else {
      curl_easy_setopt(h, CURLOPT_HTTPGET, 1L);
    }
    if (e.method != a.method) {
      e.method.assign(a.method);
      curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, e.method.c_str());
    }
    curl_easy_setopt(h, CURLOPT_FRESH_CONNECT, a.fresh_connection ? 1L : 0L);
    curl_easy_setopt(h, CURLOPT_VERBOSE, 0L);
    curl_easy_setopt(h, CURLOPT_HTTP_VERSION,
                     !http_1_only_.empty() && http_1_only_.contains(destination_of(e.url).origin)
                         ? long{CURL_HTTP_VERSION_1_1}
                         : long{CURL_HTTP_VERSION_2TLS});

    curl_slist_free_all(std::exchange(e.headers, nullptr));
    for (auto const& line : a.headers) {
      auto const colon = line.find(':');
      auto const empty = line.find_first_not_of(" \t", colon + 1) == line.npos;
      e.add(empty ? line.substr(0, colon) + ';' : line);  // how libcurl spells an empty value
    }
    if (!signs()) add_our_own(e, a);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, e.headers);

    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, a.timeout ? whole_milliseconds(*a.timeout) : 0L);
    curl_easy_setopt(
        h, CURLOPT_LOW_SPEED_TIME,
        a.may_be_silent
            ? 0L
            : static_cast<long>(
                  std::chrono::ceil<std::chrono::seconds>(options_.silence_max).count()));
  }

  /// Where libcurl signs, it would sign these as well, also what is only left out.
  void add_our_own(exchange& e, attempt const& a) const {
    auto const given = [&](std::string_view name) {
      return std::ranges::any_of(a.headers, [name](std::string_view line) {
        return equal_ignoring_case(line.substr(0, line.find(':')), name);
      });
    };
    // libcurl adds these two of its own accord.
    if (a.body) {
      e.add("Expect:");
      if (!given("Content-Type")) e.add("Content-Type:");
    }
    // It would write each of these twice, byte by byte: a tenth of its work for a request.
    if (!given("User-Agent")) e.add(user_agent_);
    if (!given("Accept-Encoding")) e.add(accept_encoding_);
  }

  /// Answers that come together are told in the order of their requests: in that order the server
  /// has judged them, and the first of them may explain the others.
  void take_ended() {
    int left = 0;
    while (auto const* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      exchange* e = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &e);
      ended_.emplace_back(e, message->data.result);
    }
    std::ranges::sort(ended_, {}, [](auto const& end) { return end.first->sequence; });
  }

  void finish(exchange& e, CURLcode code) {
    auto* const easy = e.easy;
    e.open = false;
    reply r;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 && code == CURLE_SEND_ERROR && !e.died) status = read_early(e, code);
    if (status >= 200) {
      r.state = send_state::answered;
      r.status = static_cast<int>(status);
      e.head.read(fields_);
      r.fields = fields_;
    } else {
      if (code == CURLE_HTTP2_STREAM && error_of_stream(e) == enhance_your_calm)
        e.refused = e.calm = true;
      r.state = e.sent && !e.unsent && !e.refused ? send_state::sent : send_state::not_sent;
      r.too_many = e.calm;
      r.stale = (e.died || breaks_off_kept(e, code)) && !e.refused && e.stream == 0;
    }
    leave_crowd(e);
    if (e.too_large) std::string().swap(e.body);
    r.body = e.body;
    char const* type = nullptr;
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    if (type != nullptr) r.type = type;
    r.too_large = e.too_large;
    r.crowded_out = e.crowded_out;
    r.futile = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    if (r.state == send_state::not_sent && e.refused)
      r.error = e.calm ? "the server asks for calm" : "the server refused the stream";
    else if (e.died)
      r.error = "the connection was closed before there was an answer";
    else if (e.head.two_lengths())
      r.error = "the answer has two different Content-Lengths";
    else if (e.head.switches())
      r.error = "the answer is 101: a protocol that was not asked for";
    else if (e.head.too_long())
      r.error = "the header of the answer is longer than 256 KiB";
    else if (e.crowded_out)
      r.error = "there was no room for its body beside the others in flight (--bodies-max)";
    else if (e.packed > 0 && !e.unpacks)
      r.error = "the Content-Encoding of the body is neither gzip nor deflate";
    else if (e.unpacks && code == CURLE_WRITE_ERROR && !e.too_large)
      r.error = "the body is not what its Content-Encoding says";
    else if (e.unpacks && code == CURLE_OK && !e.unpacks->ended())
      r.error = "the compressed body was cut off";
    else if (code == CURLE_OUT_OF_MEMORY && r.state != send_state::not_sent)  // it says no more
      r.error = "a line in the header of the answer is longer than 100 KiB, or memory ran out";
    else if (code != CURLE_OK)
      r.error = e.error[0] != '\0' ? e.error.data() : curl_easy_strerror(code);
    else if (!e.head.ended())
      r.error = "the connection was closed in the header of the answer";
    curl_off_t pretransfer = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer);
    r.reached = r.state != send_state::not_sent || pretransfer > 0;
    long system_error = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &system_error);
    auto obstacle = obstacle_of(code, system_error);
    if (has_proxy_ && code == CURLE_COULDNT_CONNECT && !obstacle.empty())
      obstacle += by_proxy(e.error.data(), e.url);
    if (!r.reached) r.obstacle = obstacle;
    e.connection.clear();
    e.socket = -1;
    curl_multi_remove_handle(multi_, easy);
    e.unpacks.reset();
    done_(e.key, r);
    if (e.body.capacity() > (1U << 14)) std::string().swap(e.body);
    e.head.clear();
    // libcurl would begin the next request with what is left of sending this one again.
    if (e.died) {
      curl_easy_cleanup(easy);
      e.method.clear();
      make_handle(e);
    }
    idle_.push_back(&e);
  }

  /// More of the answer to `e` has come.
  static void note_news(exchange& e) {
    if (!e.heard && !std::exchange(e.news, true)) e.owner->news_.push_back(&e);
  }

  /// Tells of answers that have begun and not ended.
  void tell_heads() {
    for (auto* const e : news_) {
      e->news = false;
      long status = 0;
      curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
      if (!e->open || !e->head.ended() || e->head.two_lengths() || status < 200) continue;
      e->head.read(fields_);
      char const* type = nullptr;
      curl_easy_getinfo(e->easy, CURLINFO_CONTENT_TYPE, &type);
      reply const so_far{.state = send_state::answered,
                         .reached = true,
                         .status = static_cast<int>(status),
                         .body = e->body,
                         .type = type == nullptr ? "" : type,
                         .fields = fields_};
      e->heard = head_(e->key, so_far) || e->body.size() >= head_body_max;
    }
    news_.clear();
  }

  /// Returns whether a kept connection broke while the body was under way, before anything came
  /// back. libcurl does not send that again, so on_request does not hear of it.
  static bool breaks_off_kept(exchange const& e, CURLcode code) {
    long opened = 0, head = 0;
    curl_easy_getinfo(e.easy, CURLINFO_NUM_CONNECTS, &opened);
    curl_easy_getinfo(e.easy, CURLINFO_HEADER_SIZE, &head);
    return code == CURLE_SEND_ERROR && e.sent && opened == 0 && head == 0 && e.early.empty();
  }

  /// With what error, as libcurl tells it, the server closed the exchange's stream.
  static std::optional<std::uint32_t> error_of_stream(exchange const& e) {
    return number_after(e.error.data(), "not closed cleanly: ", "(err ");
  }

  /// A server that wants no more of a long request answers and closes. libcurl, about to write,
  /// takes the error and leaves the answer unread. Returns its status, 0 without one; `code`
  /// becomes CURLE_OK if it is whole and no success, which would say nothing of what was not read.
  long read_early(exchange& e, CURLcode& code) {
    long status = 0;
    for (std::string_view rest = e.early; rest.find('\n') != rest.npos;) {
      auto const line = rest.substr(0, rest.find('\n') + 1);
      rest.remove_prefix(line.size());
      if (line.starts_with("HTTP/")) status = number_after(line, " ").value_or(0);
      if (status == 0 || !e.head.take(line)) break;
      if (!e.head.ended() || status < 200) continue;
      e.head.read(fields_);
      auto const encoded = http::value_of(fields_, "content-encoding").has_value();
      if (status >= 300 && !encoded && e.head.length() == std::to_string(rest.size()) &&
          take_body(e, rest))
        code = CURLE_OK;
      break;
    }
    return status;
  }

  // Of bodies_max one half is for all, and a body's size is for the lead. What lies between is room
  // for what libcurl has read already when an answer is to pause: a block, after decompression.
  // libcurl's own way to refuse a block, CURL_WRITEFUNC_PAUSE, keeps what comes of it where it is
  // not counted, and of a compressed one that may be megabytes.

  bool crowded(std::size_t more = 0) const noexcept { return held() + more > half(); }
  std::size_t half() const noexcept { return options_.bodies_max / 2; }
  /// A request may be larger than all that; its answer needs room, too.
  std::size_t held() const noexcept { return received_ + std::min(sending_, half()); }

  /// A stream of HTTP/2 that is paused is read on by libcurl 7.88, and kept where it is not
  /// counted.
  static bool can_pause(exchange const& e) {
    long version = CURL_HTTP_VERSION_NONE;
    curl_easy_getinfo(e.easy, CURLINFO_HTTP_VERSION, &version);
    return version < CURL_HTTP_VERSION_2_0;
  }

  /// Whether `e` may take `size` bytes more.
  bool admit(exchange& e, std::size_t size) {
    if (crowded(size)) {
      if (lead_ == nullptr) lead_ = &e;
      auto const room = options_.bodies_max - (lead_ == &e ? 0 : options_.body_max);
      if (held() + size > room) return false;
      if (lead_ != &e && !e.paused && can_pause(e)) {
        e.paused = true;
        crowd_.push_back(&e);
      }
    }
    received_ += size;
    return true;
  }

  /// Not from within a callback of libcurl's.
  void pause_the_crowd() {
    for (; pausing_ < crowd_.size(); ++pausing_)
      curl_easy_pause(crowd_[pausing_]->easy, CURLPAUSE_RECV);
  }

  void leave_crowd(exchange& e) {
    received_ -= e.body.size();
    sending_ -= e.sending.size();
    if (lead_ == &e) lead_ = nullptr;
    if (!std::exchange(e.paused, false)) return;
    auto const at = std::ranges::find(crowd_, &e);
    if (at - crowd_.begin() < static_cast<std::ptrdiff_t>(pausing_)) --pausing_;
    crowd_.erase(at);
  }

  /// The first of the crowd goes on where there is no lead, and as many as there is room for what
  /// libcurl may read of each before it can be paused again.
  void resume() {
    for (std::size_t resumed = 1; !crowd_.empty(); ++resumed) {
      auto& e = *crowd_.front();
      if (crowded(resumed * read_max)) {
        if (lead_ != nullptr) break;
        lead_ = &e;
      }
      crowd_.pop_front();
      e.paused = false;
      if (pausing_ > 0) --pausing_;
      curl_easy_pause(e.easy, CURLPAUSE_CONT);
    }
    pause_the_crowd();
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
    std::string_view const block(data, size * count);
    return take_packed(*static_cast<exchange*>(user), block) ? block.size() : 0;
  }

  static bool take_packed(exchange& e, std::string_view block) {
    auto const coding = e.head.coding();
    if (coding.empty() || equal_ignoring_case(coding, "identity")) return take_body(e, block);
    if (e.packed == 0 && inflater::reads(coding)) e.unpacks.emplace(coding);
    e.packed += block.size();
    e.too_large = e.packed > e.body_max;  // whatever becomes of it
    return !e.too_large && e.unpacks &&
           e.unpacks->take(block, [&](std::string_view part) { return take_body(e, part); });
  }

  static bool take_body(exchange& e, std::string_view block) {
    e.too_large = e.body.size() + block.size() > e.body_max;
    if (e.too_large) return false;
    e.crowded_out = !e.owner->admit(e, block.size());
    if (e.crowded_out) return false;
    e.body += block;
    note_news(e);
    return true;
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
    std::string_view const line(data, size * count);
    auto& e = *static_cast<exchange*>(user);
    if (!e.head.take(line)) return 0;
    if (e.head.ended()) note_news(e);
    return line.size();
  }

  static std::size_t on_read(char* data, std::size_t size, std::size_t count, void* user) {
    auto& e = *static_cast<exchange*>(user);
    auto const n = std::min(size * count, e.unread.size());
    std::memcpy(data, e.unread.data(), n);
    e.unread.remove_prefix(n);
    return n;
  }

  // Called before a body is sent again. Without this callback the exchange would end with an error,
  // and on_request would never hear that the connection died.
  static int on_seek(void* user, curl_off_t offset, int) {
    auto& e = *static_cast<exchange*>(user);
    e.unread = e.sending.substr(static_cast<std::size_t>(offset));
    return CURL_SEEKFUNC_OK;
  }

  // Called before each send. libcurl would send again by itself, at once and up to five times,
  // where a kept connection dies before a byte of the answer and where a stream is refused: that
  // must wait for its turn like any other attempt.
  static int on_request(void* user, char* remote, char* local, int remote_port, int local_port) {
    auto& e = *static_cast<exchange*>(user);
    if (e.sent) {
      see_why_it_goes_again(e);
      return CURL_PREREQFUNC_ABORT;
    }
    e.sent = true;
    if (e.url.starts_with("https:")) {
      e.connection = fmt::format("{} {} {} {}", local, local_port, remote, remote_port);
      curl_easy_setopt(e.easy, CURLOPT_VERBOSE, 1L);  // for on_text
    }
    return CURL_PREREQFUNC_OK;
  }

  // libcurl 7.88 does not say why. An error of the connection has left its text; a stream that was
  // refused leaves none.
  static void see_why_it_goes_again(exchange& e) {
    if (std::exchange(e.died, true)) return;
    if (e.stream != 0 && e.error[0] == '\0') e.refused = true;
    long written = 0;
    curl_easy_getinfo(e.easy, CURLINFO_REQUEST_SIZE, &written);
    e.unsent = written == 0 && e.stream == 0;
    if (error_of_stream(e) == http_1_1_required && e.owner->http_1_only_.size() < origins_max)
      e.owner->http_1_only_.insert(destination_of(e.url).origin);
  }

  // GOAWAY says below which stream all has been acted on, and it is told to one of the exchanges of
  // its connection only.
  static int on_text(CURL*, curl_infotype type, char* data, std::size_t size, void* user) {
    if (type != CURLINFO_TEXT) return 0;
    auto& e = *static_cast<exchange*>(user);
    std::string_view const text(data, size);
    if (auto const stream = number_after(text, "Using Stream ID: ")) {
      e.stream = *stream;
    } else if (auto const last = number_after(text, "GOAWAY, error=", ", last_stream=")) {
      for (auto const& other : e.owner->exchanges_)
        if (other->connection == e.connection && other->stream > *last) {
          other->refused = true;
          other->calm = number_after(text, "GOAWAY, error=") == enhance_your_calm;
        }
    }
    return 0;
  }

  // Sockets stay watched for reading while their connection idles: two epoll_ctl calls less for
  // each request.
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* user, void*) {
    auto& self = *static_cast<impl*>(user);
    auto const index = static_cast<std::size_t>(fd);
    if (index >= self.sockets_.size()) self.sockets_.resize(index + 1);
    auto& socket = self.sockets_[index];
    socket.ours = true;
    socket.wanted = 0;
    if (what & CURL_POLL_IN) socket.wanted |= EPOLLIN;
    if (what & CURL_POLL_OUT) socket.wanted |= EPOLLOUT;
    if (what != CURL_POLL_REMOVE) {
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &socket.user);
      if (socket.user != nullptr) socket.user->socket = fd;
    }
    if (socket.wanted == 0)
      self.poller_.watch_if_open(fd, EPOLLIN);
    else
      self.poller_.watch(fd, socket.wanted);
    return 0;
  }

  // libcurl closes a socket that did not get connected without telling us (no on_close), and a new
  // one may get its number: that is not watched yet, whatever we believe.
  static curl_socket_t on_open(void* user, curlsocktype, curl_sockaddr* to) {
    auto& e = *static_cast<exchange*>(user);
    if (e.sent) {  // it would only be sent again
      see_why_it_goes_again(e);
      return CURL_SOCKET_BAD;
    }
    auto& self = *e.owner;
    int const fd = ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    if (fd < 0) return CURL_SOCKET_BAD;
    auto const index = static_cast<std::size_t>(fd);
    self.poller_.forget(fd);
    if (index < self.sockets_.size() && self.sockets_[index].wanted != 0)
      self.poller_.watch(fd, self.sockets_[index].wanted);
    return fd;
  }

  static int on_close(void* user, curl_socket_t fd) {
    auto& self = *static_cast<impl*>(user);
    self.poller_.forget(fd);
    if (static_cast<std::size_t>(fd) < self.sockets_.size()) {
      auto* const e = std::exchange(self.sockets_[static_cast<std::size_t>(fd)], {}).user;
      if (e != nullptr && e->socket == fd && !e->sending.empty()) keep_early(*e);
    }
    return close(fd);
  }

  static void keep_early(exchange& e) {
    e.early.resize(16'384);
    auto const n = recv(e.socket, e.early.data(), e.early.size(), MSG_DONTWAIT);
    e.early.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  }

  static int on_timer(CURLM*, long milliseconds, void* user) {
    auto& self = *static_cast<impl*>(user);
    self.timer_ = milliseconds < 0 ? never : clock_now() + std::chrono::milliseconds(milliseconds);
    return 0;
  }

  poller& poller_;
  transport_options options_;
  std::string user_agent_ = "User-Agent: " + options_.user_agent;
  bool has_proxy_ = environment_has_a_proxy();
  std::string accept_encoding_ = std::string("Accept-Encoding: ") + encodings;
  head head_;
  done done_;
  std::vector<exchange*> news_;                       // of answers that have not ended
  std::deque<std::pair<exchange*, CURLcode>> ended_;  // and are to be told
  std::uint64_t sends_ = 0;
  CURLM* multi_ = nullptr;
  std::vector<std::unique_ptr<exchange>> exchanges_;
  std::vector<exchange*> idle_;
  // Of the answer that is being told. curl_easy_nextheader would compare each with all the others.
  std::vector<http::field> fields_;
  std::vector<socket_state> sockets_;  // by descriptor
  std::set<std::string> http_1_only_;  // origins that have refused HTTP/2
  time_point timer_ = never;
  std::size_t sending_ = 0;  // bytes of bodies in flight
  std::size_t received_ = 0;
  exchange* lead_ = nullptr;     // goes on whatever the others hold
  std::deque<exchange*> crowd_;  // are read no further, the first to go on first
  std::size_t pausing_ = 0;      // so many of them are paused already
};

transport::transport(poller& events, transport_options options, head on_head, done on_done)
    : impl_(std::make_unique<impl>(events, std::move(options), std::move(on_head),
                                   std::move(on_done))) {}
transport::~transport() = default;
void transport::send(std::uint64_t key, attempt const& a) {
  impl_->send(key, a);
}
bool transport::ready(poller::event const& e) {
  return impl_->ready(e);
}
void transport::flush(std::function<bool()> const& has_room) {
  impl_->flush(has_room);
}
std::size_t transport::body_bytes() const noexcept {
  return impl_->body_bytes();
}
time_point transport::wakeup() const noexcept {
  return impl_->wakeup();
}

}  // namespace headway::app
