// EasyTransfer: one request under way: libcurl's easy handle, what came for it and was not handed on yet, its deadlines.
//
// Shared by the Transfer of its user and, while something is due, by its MultiHandle. Confined to the loop's thread.
#pragma once

#include <curl/curl.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "http/multi_handle.h"
#include "http/outbound.h"
#include "net/loop.h"

namespace agentd::http {

class EasyTransfer final : public std::enable_shared_from_this<EasyTransfer> {
 public:
  EasyTransfer(net::Loop& loop, std::shared_ptr<MultiHandle> multi, OutboundRequest request, Receiver receiver);
  ~EasyTransfer();
  EasyTransfer(const EasyTransfer&) = delete;
  EasyTransfer& operator=(const EasyTransfer&) = delete;

  void begin();
  void end();  // the receiver is not called any more

  // By the MultiHandle, outside of libcurl.
  void finish(CURLcode code);
  void deliver();

 private:
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  void set_destination();
  void set_request();
  void set_headers();
  void set_callbacks();
  template <class T>
  void set(CURLoption option, T value);

  static curl_socket_t on_connect(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_request(void* self, char*, char*, int, int);
  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self);
  [[nodiscard]] bool lets_by(const sockaddr& address);
  [[nodiscard]] bool take_header(std::string_view line);
  [[nodiscard]] bool take_body(std::string_view piece);
  [[nodiscard]] bool refuse(Code code, std::string_view what);
  void give_up(Error why);
  void await_piece(std::int64_t within_ms, std::string_view what);
  void become_due();

  const std::shared_ptr<MultiHandle> multi_;
  const OutboundRequest request_;
  Receiver receiver_;
  Destination destination_;
  bool sent_ = false;  // or begun to be

  // Of the answer.
  ResponseHead head_;
  std::size_t head_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  enum class Head : std::uint8_t { kReading, kDue, kGiven } head_state_ = Head::kReading;
  std::string body_;              // not handed on yet
  std::optional<Error> refusal_;  // why we made libcurl stop
  std::optional<Status> result_;
  bool due_ = false;
  bool ended_ = false;

  net::Timer pause_;  // until the head, then until the next piece
  net::Timer total_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURL, FreeEasy> easy_;  // none once it is over
};

}  // namespace agentd::http
