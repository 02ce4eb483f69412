#include "http/multi_handle.h"

#include <utility>

#include "base/check.h"
#include "http/easy_transfer.h"

namespace agentd::http {

namespace {

constexpr long kMostKept = 64;  // connections, those in use included

void must(CURLMcode code) { AGENTD_CHECK(code == CURLM_OK, curl_multi_strerror(code)); }

}  // namespace

MultiHandle::MultiHandle(net::Loop& loop) : loop_(loop), timer_(loop) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  AGENTD_CHECK(started == CURLE_OK, "libcurl does not start");
  AGENTD_CHECK((curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) != 0,
               "this libcurl would resolve names on the loop's thread");
  multi_.reset(curl_multi_init());
  AGENTD_CHECK(multi_ != nullptr, "libcurl is out of memory");
  must(curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &MultiHandle::on_socket));
  must(curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this));
  must(curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &MultiHandle::on_timer));
  must(curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this));
  must(curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kMostKept));
}

void MultiHandle::add(CURL* easy) { must(curl_multi_add_handle(multi_.get(), easy)); }

void MultiHandle::remove(CURL* easy) { must(curl_multi_remove_handle(multi_.get(), easy)); }

int MultiHandle::on_socket(CURL*, curl_socket_t fd, int wanted, void* self, void*) {
  auto& multi = *static_cast<MultiHandle*>(self);
  if (wanted == CURL_POLL_REMOVE) {
    multi.sockets_.erase(fd);
    return 0;
  }
  auto found = multi.sockets_.find(fd);
  if (found == multi.sockets_.end()) {
    found = multi.sockets_.emplace(fd, Socket{.watch = net::Watch(multi.loop_, fd)}).first;
  }
  found->second.wanted = wanted;
  found->second.watch.cancel();
  multi.wait(fd);
  return 0;
}

int MultiHandle::on_timer(CURLM*, long after_ms, void* self) {
  auto& multi = *static_cast<MultiHandle*>(self);
  if (after_ms < 0) {
    multi.timer_.cancel();
  } else {
    multi.timer_.arm(after_ms, [&multi] { multi.act(CURL_SOCKET_TIMEOUT, 0); });
  }
  return 0;
}

void MultiHandle::wait(curl_socket_t fd) {
  const auto found = sockets_.find(fd);
  if (found == sockets_.end()) return;
  auto& [watch, wanted] = found->second;
  if ((wanted & CURL_POLL_IN) != 0) watch.wait_readable([this, fd] { act(fd, CURL_CSELECT_IN); });
  if ((wanted & CURL_POLL_OUT) != 0) watch.wait_writable([this, fd] { act(fd, CURL_CSELECT_OUT); });
}

void MultiHandle::act(curl_socket_t fd, int ready) {
  const auto self = shared_from_this();
  int running = 0;
  must(curl_multi_socket_action(multi_.get(), fd, ready, &running));
  // A wait is for once, and libcurl says only what changes.
  if (fd != CURL_SOCKET_TIMEOUT) wait(fd);
  take_results();
  for (const auto& transfer : std::exchange(due_, {})) transfer->deliver();
}

void MultiHandle::take_results() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    const CURLcode code = message->data.result;
    EasyTransfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    transfer->finish(code);
  }
}

}  // namespace agentd::http
