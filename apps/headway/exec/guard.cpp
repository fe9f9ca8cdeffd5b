#include "exec/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include "exec/descendants.hpp"
#include "os/file.hpp"

extern char** environ;

namespace headway::app {
namespace {

struct request {
  std::int32_t signal = 0;  // 0: a command follows
  std::uint32_t bytes = 0;  // of its text
  std::uint32_t arguments = 0, environment = 0;
  std::int32_t detach_ok = 0;
};
constexpr std::size_t streams = 4;

bool read_all(int fd, void* to, std::size_t size) noexcept {
  for (auto* at = static_cast<char*>(to); size > 0;) {
    auto const n = ::read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

/// The head of a request, with the descriptors that come with it. False: there are no more.
bool receive(int socket, request& head, std::array<int, streams>& fds) noexcept {
  fds.fill(-1);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * streams)> control{};
  iovec part{&head, sizeof head};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = 0;
  do n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  if (auto const* const c = CMSG_FIRSTHDR(&message); c != nullptr && c->cmsg_type == SCM_RIGHTS)
    std::memcpy(fds.data(), CMSG_DATA(c), std::min(sizeof fds, c->cmsg_len - CMSG_LEN(0)));
  auto const got = static_cast<std::size_t>(n);
  return read_all(socket, reinterpret_cast<char*>(&head) + got, sizeof head - got);
}

/// Runs in the memory of the guard until execve(2).
[[noreturn]] void become(char const* program, char* const* arguments, char* const* environment,
                         std::array<int, streams> const& fds, pid_t guard,
                         int volatile& error) noexcept {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(127);
  for (int i = 0; i < static_cast<int>(streams); ++i) ::dup2(fds[static_cast<std::size_t>(i)], i);
  ::syscall(SYS_close_range, static_cast<unsigned>(streams), ~0U, 0U);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program, arguments, environment);
  error = errno;
  ::_exit(127);
}

/// The process; 0, and an errno, where it was not started.
[[gnu::noinline]] pid_t run(char const* program, char* const* arguments, char* const* environment,
                            std::array<int, streams> const& fds, int& why) noexcept {
  int volatile error = 0;
  auto const ourselves = ::getpid();
  auto const id = ::vfork();
  if (id == 0) become(program, arguments, environment, fds, ourselves, error);
  why = id < 0 ? errno : error;
  if (why == 0) return id;
  if (id > 0) ::waitpid(id, nullptr, 0);
  return 0;
}

/// The strings of a request, each with a zero after it.
class texts {
 public:
  explicit texts(std::string& all) : at_(all.data()) {}
  char* next() {
    auto* const text = at_;
    at_ += std::strlen(at_) + 1;
    return text;
  }

 private:
  char* at_;
};

std::vector<char*> with_ours(texts& all, std::uint32_t count) {
  std::vector<char*> given;
  for (std::uint32_t i = 0; i < count; ++i) given.push_back(all.next());
  auto const replaced = [&](std::string_view ours) {
    auto const name = ours.substr(0, ours.find('=') + 1);
    return std::ranges::any_of(given, [&](std::string_view g) { return g.starts_with(name); });
  };
  auto const count_given = given.size();
  for (auto** ours = environ; *ours != nullptr; ++ours)
    if (count_given == 0 || !replaced(*ours)) given.push_back(*ours);
  given.push_back(nullptr);
  return given;
}

/// Starts what `head` asks for; its process, or 0 with `end.error`.
pid_t spawn(int socket, request const& head, std::array<int, streams> const& fds,
            command_end& end) {
  std::string text(head.bytes, '\0');
  if (!read_all(socket, text.data(), text.size())) ::_exit(0);
  texts all(text);
  auto const* const program = all.next();
  std::vector<char*> arguments;
  for (std::uint32_t i = 0; i < head.arguments; ++i) arguments.push_back(all.next());
  arguments.push_back(nullptr);
  auto const environment = with_ours(all, head.environment);
  return run(program, arguments.data(), environment.data(), fds, end.error);
}

/// Waits for the end of a command; passes signals on, and kills all where we are alone.
void attend(int socket, pid_t id, command_end& end) {
  int const ended = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  std::array<pollfd, 2> wait{pollfd{ended, POLLIN, 0}, pollfd{socket, POLLIN, 0}};
  while (wait[0].revents == 0) {
    if (::poll(wait.data(), wait.size(), ended < 0 ? 10 : -1) < 0 && errno != EINTR) break;
    if (wait[1].revents != 0) {
      request head;
      std::array<int, streams> none;
      if (!receive(socket, head, none)) {
        ::kill(-id, SIGKILL);
        end_descendants();
        ::_exit(0);
      }
      ::kill(-id, head.signal);
      wait[1].revents = 0;
    }
    if (ended < 0 &&
        ::waitid(P_PID, static_cast<id_t>(id), nullptr, WEXITED | WNOHANG | WNOWAIT) == 0)
      break;
  }
  ::waitpid(id, &end.status, 0);
  if (ended >= 0) ::close(ended);
}

[[noreturn]] void serve(int socket) {
  ::setsid();
  become_subreaper();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // 0 to 3 are taken, so that what is received is above them; nothing else of ours is open.
  int const null = ::open("/dev/null", O_RDWR);
  socket = ::fcntl(socket, F_DUPFD_CLOEXEC, 64);
  for (int i = 0; i < static_cast<int>(streams); ++i)
    if (i != null) ::dup3(null, i, O_CLOEXEC);
  ::syscall(SYS_close_range, static_cast<unsigned>(streams), static_cast<unsigned>(socket - 1), 0U);
  ::syscall(SYS_close_range, static_cast<unsigned>(socket + 1), ~0U, 0U);
  for (;;) {
    request head;
    std::array<int, streams> fds;
    if (!receive(socket, head, fds)) ::_exit(0);
    if (head.signal != 0) continue;  // for what has ended meanwhile
    command_end end;
    auto const id = spawn(socket, head, fds, end);
    for (int const fd : fds)
      if (fd >= 0) ::close(fd);
    if (id != 0) {
      attend(socket, id, end);
      if (head.detach_ok == 0) {
        ::kill(-id, SIGKILL);
        end_descendants();
      }
    }
    if (::write(socket, &end, sizeof end) != sizeof end) ::_exit(0);
  }
}

}  // namespace

guard::guard() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category());
  id_ = ::fork();
  if (id_ == 0) serve(ends[1]);
  ::close(ends[1]);
  socket_ = ends[0];
  if (id_ < 0) {
    auto const error = errno;
    ::close(socket_);
    throw std::system_error(error, std::generic_category());
  }
  timeval const patience{10, 0};  // with a guard that was stopped
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

guard::~guard() {
  ::close(socket_);
  ::kill(id_, SIGCONT);
  ::waitpid(id_, nullptr, 0);
}

bool guard::start(command_start const& c) {
  request head{.arguments = static_cast<std::uint32_t>(c.arguments.size()),
               .environment = static_cast<std::uint32_t>(c.environment.size()),
               .detach_ok = c.detach_ok ? 1 : 0};
  std::string text = c.program + '\0';
  for (auto const* const list : {&c.arguments, &c.environment})
    for (auto const& one : *list) text.append(one) += '\0';
  head.bytes = static_cast<std::uint32_t>(text.size());
  std::array const fds{c.input, c.output, c.error, c.hints};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> control{};
  iovec part{&head, sizeof head};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto* const passed = CMSG_FIRSTHDR(&message);
  passed->cmsg_level = SOL_SOCKET;
  passed->cmsg_type = SCM_RIGHTS;
  passed->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(passed), fds.data(), sizeof fds);
  gone_ = ::sendmsg(socket_, &message, MSG_NOSIGNAL) != sizeof head ||
          write_all(socket_, text) != text.size();
  return !gone_;
}

void guard::signal(int signal) noexcept {
  request const head{.signal = signal};
  ::send(socket_, &head, sizeof head, MSG_NOSIGNAL);
}

std::optional<command_end> guard::end() noexcept {
  command_end how;
  auto const n = ::recv(socket_, &how, sizeof how, MSG_DONTWAIT);
  if (n == sizeof how) return how;
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) gone_ = true;
  return std::nullopt;
}

}  // namespace headway::app
