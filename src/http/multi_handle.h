// MultiHandle: libcurl's multi handle on a loop: its sockets are watched, its timer is the loop's, and what it ends is told.
//
// No receiver is ever called inside libcurl: its callbacks collect, and after libcurl has returned everything that came is delivered.
// So a receiver may start and end transfers, and drop the last owner of this. Confined to its loop's thread.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "net/loop.h"

namespace agentd::http {

class EasyTransfer;

class MultiHandle final : public std::enable_shared_from_this<MultiHandle> {
 public:
  explicit MultiHandle(net::Loop& loop);
  MultiHandle(const MultiHandle&) = delete;
  MultiHandle& operator=(const MultiHandle&) = delete;

  // `easy` is the handle of an EasyTransfer, named by its CURLOPT_PRIVATE; removed before it is cleaned up. Nothing is called in here.
  void add(CURL* easy);
  void remove(CURL* easy);
  // Something came for it: deliver() is called before the loop goes on. For libcurl's callbacks.
  void due(std::shared_ptr<EasyTransfer> transfer) { due_.push_back(std::move(transfer)); }

 private:
  struct Free {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  struct Socket {
    net::Watch watch;
    int wanted = CURL_POLL_NONE;
  };

  static int on_socket(CURL* easy, curl_socket_t fd, int wanted, void* self, void* unused);
  static int on_timer(CURLM* multi, long after_ms, void* self);
  void wait(curl_socket_t fd);
  void act(curl_socket_t fd, int ready);
  void take_results();

  net::Loop& loop_;
  std::unordered_map<curl_socket_t, Socket> sockets_;
  net::Timer timer_;
  std::vector<std::shared_ptr<EasyTransfer>> due_;
  // Last, so that it goes first: it closes the kept connections, and says so to the callbacks above.
  std::unique_ptr<CURLM, Free> multi_;
};

}  // namespace agentd::http
