#include "http/easy_transfer.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/version.h"
#include "http/address.h"

namespace agentd::http {

namespace {

constexpr std::size_t kMostHeadBytes = 256U << 10U;  // of all heads of an answer, and its trailers

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// RFC 9110, section 9.2.2.
bool is_idempotent(std::string_view method) {
  constexpr std::string_view kIdempotent[] = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return std::ranges::find(kIdempotent, method) != std::end(kIdempotent);
}

}  // namespace

EasyTransfer::EasyTransfer(net::Loop& loop, std::shared_ptr<MultiHandle> multi, OutboundRequest request,
                           Receiver receiver)
    : multi_(std::move(multi)),
      request_(std::move(request)),
      receiver_(std::move(receiver)),
      pause_(loop),
      total_(loop) {}

EasyTransfer::~EasyTransfer() { end(); }

void EasyTransfer::begin() {
  auto destination = check(request_);
  if (!destination) {
    // Not within start().
    return pause_.arm(0, [this, why = destination.error()] { give_up(why); });
  }
  destination_ = std::move(*destination);
  easy_.reset(curl_easy_init());
  AGENTD_CHECK(easy_ != nullptr, "libcurl is out of memory");
  set_destination();
  set_request();
  set_headers();
  set_callbacks();
  multi_->add(easy_.get());
  await_piece(request_.deadlines.first_byte_ms, "no answer");
  if (const auto total = request_.deadlines.total_ms; total > 0) {
    total_.arm(total, [this, total] {
      give_up({.code = Code::kTimeout, .message = fmt::format("{}: not finished in {} ms", destination_.place, total)});
    });
  }
}

void EasyTransfer::end() {
  ended_ = true;
  pause_.cancel();
  total_.cancel();
  if (!easy_) return;
  multi_->remove(easy_.get());
  easy_.reset();
}

template <class T>
void EasyTransfer::set(CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy_.get(), option, value);
  AGENTD_CHECK(code == CURLE_OK, curl_easy_strerror(code));
}

void EasyTransfer::set_destination() {
  set(CURLOPT_CURLU, destination_.url.get());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_NOSIGNAL, 1L);
  // A thread that still resolves a name is left to itself when its request is over; otherwise it would be waited for, here.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(request_.deadlines.connect_ms, 1)));
  // "" for none; and nothing of the environment.
  set(CURLOPT_PROXY, request_.proxy.c_str());
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (request_.ca.empty()) return;
  for (const auto option : {CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO}) set(option, request_.ca.c_str());
  // And nobody else.
  for (const auto option : {CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH}) set<const char*>(option, nullptr);
  set(CURLOPT_CA_CACHE_TIMEOUT, 0L);  // the file may be replaced
}

void EasyTransfer::set_request() {
  set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  if (request_.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  if (request_.body.empty() && request_.method != "POST" && request_.method != "PUT") return;
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  set(CURLOPT_POSTFIELDS, request_.body.c_str());
}

void EasyTransfer::set_headers() {
  const auto add = [this](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    AGENTD_CHECK(longer != nullptr, "libcurl is out of memory");
    [[maybe_unused]] auto* same = headers_.release();
    headers_.reset(longer);
  };
  // What libcurl would send of its own accord, unless it is named below.
  for (const std::string_view name : {"Expect", "Content-Type"}) {
    const bool named =
        std::ranges::any_of(request_.headers, [name](const auto& field) { return same_name(field.first, name); });
    if (!named) add(fmt::format("{}:", name));
  }
  for (const auto& [name, value] : request_.headers) {
    // libcurl's way to write a header without a value.
    add(trim(value).empty() ? fmt::format("{};", name) : fmt::format("{}: {}", name, value));
  }
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_USERAGENT, fmt::format("agentd/{}", kVersion).c_str());
}

void EasyTransfer::set_callbacks() {
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, detail_.data());
  set(CURLOPT_OPENSOCKETFUNCTION, &EasyTransfer::on_connect);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_PREREQFUNCTION, &EasyTransfer::on_request);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_HEADERFUNCTION, &EasyTransfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &EasyTransfer::on_body);
  set(CURLOPT_WRITEDATA, this);
}

// The gate. Of several addresses of a name, each is asked about.
curl_socket_t EasyTransfer::on_connect(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<EasyTransfer*>(self);
  return transfer.lets_by(address->addr)
             ? ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol)
             : CURL_SOCKET_BAD;
}

// Before the request is sent, and again when libcurl would send it anew because a kept connection died.
int EasyTransfer::on_request(void* self, char*, char*, int, int) {
  auto& transfer = *static_cast<EasyTransfer*>(self);
  if (!std::exchange(transfer.sent_, true) || is_idempotent(transfer.request_.method)) return CURL_PREREQFUNC_OK;
  static_cast<void>(transfer.refuse(Code::kUnavailable, "a connection that was kept ended before the answer"));
  return CURL_PREREQFUNC_ABORT;
}

std::size_t EasyTransfer::on_header(char* data, std::size_t, std::size_t size, void* self) {
  return static_cast<EasyTransfer*>(self)->take_header({data, size}) ? size : 0;
}

std::size_t EasyTransfer::on_body(char* data, std::size_t, std::size_t size, void* self) {
  return static_cast<EasyTransfer*>(self)->take_body({data, size}) ? size : CURL_WRITEFUNC_ERROR;
}

bool EasyTransfer::lets_by(const sockaddr& address) {
  const auto special = request_.reach == Reach::kPublic ? special_range(address) : std::nullopt;
  if (!special) return true;
  return refuse(Code::kPermissionDenied,
                fmt::format("the address{} is {} ({}); a URL that the configuration does not hold may lead to public "
                            "addresses only",
                            request_.proxy.empty() ? "" : " of its proxy", address_text(address), *special));
}

bool EasyTransfer::take_header(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > kMostHeadBytes) {
    return refuse(Code::kUnavailable, fmt::format("the head of its answer is longer than {} bytes", kMostHeadBytes));
  }
  if (head_state_ != Head::kReading) return true;  // a trailer
  if (line.starts_with("HTTP/")) {                 // a head begins; what an interim one said is dropped
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    head_ = {.status = static_cast<int>(status), .headers = {}};
    return true;
  }
  line = trim(line);
  if (line.empty()) {
    if (head_.status < 200) return true;
    head_state_ = Head::kDue;
    become_due();
    return true;
  }
  if (const auto colon = line.find(':'); colon != std::string_view::npos) {
    head_.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
  }
  return true;
}

bool EasyTransfer::take_body(std::string_view piece) {
  if (head_state_ == Head::kReading) return refuse(Code::kUnavailable, "its answer has no head that ends");
  if (piece.size() > request_.most_bytes - body_bytes_) {
    return refuse(Code::kUnavailable, fmt::format("its answer is longer than {} bytes", request_.most_bytes));
  }
  body_bytes_ += piece.size();
  body_ += piece;
  become_due();
  return true;
}

bool EasyTransfer::refuse(Code code, std::string_view what) {
  refusal_ = Error{.code = code, .message = fmt::format("{}: {}", destination_.place, what)};
  return false;
}

void EasyTransfer::become_due() {
  if (!std::exchange(due_, true)) multi_->due(shared_from_this());
}

void EasyTransfer::finish(CURLcode code) {
  if (code == CURLE_OK && head_state_ != Head::kReading) {
    result_.emplace();
  } else if (refusal_ &&
             (code == CURLE_COULDNT_CONNECT || code == CURLE_WRITE_ERROR || code == CURLE_ABORTED_BY_CALLBACK)) {
    result_ = std::unexpected(*refusal_);
  } else {
    const Failure failure{
        .easy = easy_.get(), .code = code, .detail = detail_.data(), .head_given = head_state_ != Head::kReading};
    result_ = std::unexpected(error_of(failure, request_, destination_.place));
  }
  become_due();
}

void EasyTransfer::give_up(Error why) {
  result_ = std::unexpected(std::move(why));
  deliver();
}

void EasyTransfer::await_piece(std::int64_t within_ms, std::string_view what) {
  if (within_ms == 0) return pause_.cancel();
  pause_.arm(within_ms, [this, within_ms, what] {
    give_up({.code = Code::kTimeout, .message = fmt::format("{}: {} in {} ms", destination_.place, what, within_ms)});
  });
}

void EasyTransfer::deliver() {
  const auto self = shared_from_this();
  due_ = false;
  if (!ended_ && !result_) await_piece(request_.deadlines.silence_ms, "nothing more of the answer");
  if (!ended_ && head_state_ == Head::kDue) {
    head_state_ = Head::kGiven;
    if (receiver_.head) receiver_.head(head_);
  }
  if (!ended_ && !body_.empty()) {
    const std::string piece = std::exchange(body_, {});
    if (receiver_.body) receiver_.body(piece);
  }
  if (!ended_ && result_) {
    end();
    receiver_.done(std::move(*result_));
  }
}

}  // namespace agentd::http
