#include "http/test_network.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string_view>

namespace agentd::http {

namespace {

struct Slow {
  std::mutex mutex;
  std::condition_variable changed;
  bool on = false;
  int asking = 0;
};

// Outlives the threads that ask.
Slow& slow() {
  static auto* one = new Slow;
  return *one;
}

void ask_slowly() {
  std::unique_lock lock(slow().mutex);
  ++slow().asking;
  slow().changed.notify_all();
  slow().changed.wait_for(lock, std::chrono::seconds(20), [] { return !slow().on; });
  --slow().asking;
  slow().changed.notify_all();
}

}  // namespace

SlowNames::SlowNames() {
  const std::lock_guard lock(slow().mutex);
  slow().on = true;
}

SlowNames::~SlowNames() {
  std::unique_lock lock(slow().mutex);
  slow().on = false;
  slow().changed.notify_all();
  slow().changed.wait(lock, [] { return slow().asking == 0; });
}

void SlowNames::await_question() {
  std::unique_lock lock(slow().mutex);
  if (!slow().changed.wait_for(lock, std::chrono::seconds(20), [] { return slow().asking > 0; })) {
    throw std::runtime_error("nobody asked for slow.test");
  }
}

}  // namespace agentd::http

extern "C" {

int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  using agentd::http::kPublicAddress;
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view asked = name == nullptr ? "" : name;
  if (asked == "slow.test") {
    agentd::http::ask_slowly();
    return EAI_NONAME;
  }
  if (asked.ends_with(".invalid")) return EAI_NONAME;
  if (asked == "inside.test") return real("127.0.0.1", service, hints, found);
  if (asked == "outside.test") return real(kPublicAddress, service, hints, found);
  if (asked != "both.test") return real(name, service, hints, found);
  if (const int error = real("10.0.0.1", service, hints, found); error != 0) return error;
  return real(kPublicAddress, service, hints, &(*found)->ai_next);
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  static const auto real = reinterpret_cast<decltype(&connect)>(::dlsym(RTLD_NEXT, "connect"));
  if (address->sa_family != AF_INET) return real(fd, address, size);
  sockaddr_in to = *reinterpret_cast<const sockaddr_in*>(address);
  if (to.sin_addr.s_addr == ::inet_addr(agentd::http::kPublicAddress)) to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return real(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

}  // extern "C"
