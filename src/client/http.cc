#include "client/http.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/check.h"
#include "client/url.h"

namespace agentd::client {
namespace {

constexpr std::size_t kMaxBody = 64U << 20U;
constexpr std::string_view kUnixScheme = "unix://";

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::int64_t now_ms() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// One transfer. An easy handle driven through a multi handle, because only curl_multi_poll can also wait for
// `stop`, and to the millisecond.
class Transfer final {
 public:
  Transfer(const HttpRequest& request, const Deadlines& deadlines, const Stop& stop, const StreamSink& sink)
      : request_(request), deadlines_(deadlines), stop_(stop), sink_(sink) {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    AGENTD_CHECK(started == CURLE_OK, "libcurl does not start");
    easy_.reset(curl_easy_init());
    multi_.reset(curl_multi_init());
    AGENTD_CHECK(easy_ && multi_, "libcurl is out of memory");
    set_target();
    set_headers();
    set_callbacks();
  }
  ~Transfer() { curl_multi_remove_handle(multi_.get(), easy_.get()); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  Result<StreamEnd> run() {
    curl_multi_add_handle(multi_.get(), easy_.get());
    started_ms_ = last_byte_ms_ = now_ms();
    for (int running = 1;;) {
      curl_multi_perform(multi_.get(), &running);
      if (refused_) return StreamEnd::kStopped;
      if (running == 0) return finish();
      if (stop_.requested()) return StreamEnd::kStopped;
      const std::int64_t wait = time_left();
      if (wait <= 0) return out_of_time();
      curl_waitfd extra{.fd = stop_.fd(), .events = CURL_WAIT_POLLIN, .revents = 0};
      curl_multi_poll(multi_.get(), &extra, 1, static_cast<int>(std::min<std::int64_t>(wait, 60'000)), nullptr);
    }
  }

 private:
  void set_target() {
    CURL* easy = easy_.get();
    std::string url = request_.url;
    std::string socket = request_.socket;
    if (url.starts_with(kUnixScheme)) {
      socket = url.substr(kUnixScheme.size());
      url = "http://localhost/";
    }
    if (!socket.empty()) curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
    if (is_loopback(url)) curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (!request_.ca.empty()) {
      curl_easy_setopt(easy, CURLOPT_CAINFO, request_.ca.c_str());
      curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);  // and nobody else
    }
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(deadlines_.connect_ms));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    if (!request_.body.empty() || request_.method == "POST") {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.c_str());
    }
  }

  void set_headers() {
    const auto add = [this](const std::string& line) {
      curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
      AGENTD_CHECK(longer != nullptr, "libcurl is out of memory");
      [[maybe_unused]] auto* same = headers_.release();
      headers_.reset(longer);
    };
    for (const auto& [name, value] : request_.headers) add(fmt::format("{}: {}", name, value));
    add("Expect:");  // no 100-continue: our bodies are small
    curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, headers_.get());
  }

  void set_callbacks() {
    curl_easy_setopt(easy_.get(), CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    curl_easy_setopt(easy_.get(), CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy_.get(), CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    curl_easy_setopt(easy_.get(), CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy_.get(), CURLOPT_ERRORBUFFER, why_);
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    static_cast<Transfer*>(self)->take_header(std::string_view(data, size));
    return size;
  }

  void take_header(std::string_view line) {
    last_byte_ms_ = now_ms();
    if (line.starts_with("HTTP/")) {  // a status line; the headers of an interim answer are dropped
      head_ = {};
      long status = 0;
      curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
      head_.status = static_cast<int>(status);
      return;
    }
    line = trim(line);
    if (line.empty()) {
      if (head_.status >= 200) hand_over_head();
      return;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    head_.headers.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }

  void hand_over_head() {
    if (head_given_) return;  // trailers
    head_given_ = true;
    if (!sink_.head(head_)) refused_ = true;
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.last_byte_ms_ = now_ms();
    if (transfer.refused_ || !transfer.sink_.body(std::string_view(data, size))) {
      transfer.refused_ = true;
      return CURL_WRITEFUNC_ERROR;
    }
    return size;
  }

  // Until the nearest deadline. The connect deadline is curl's own.
  [[nodiscard]] std::int64_t time_left() const {
    constexpr std::int64_t kNever = 3'600'000;
    const std::int64_t now = now_ms();
    std::int64_t left = kNever;
    if (deadlines_.silence_ms > 0) left = last_byte_ms_ + deadlines_.silence_ms - now;
    if (deadlines_.total_ms > 0) left = std::min(left, started_ms_ + deadlines_.total_ms - now);
    return left;
  }

  Result<StreamEnd> out_of_time() const {
    const bool silent = deadlines_.silence_ms > 0 && now_ms() - last_byte_ms_ >= deadlines_.silence_ms;
    if (silent && head_given_) return StreamEnd::kSilent;
    return fail(Code::kTimeout, fmt::format("{} {} in {} ms", request_.url, silent ? "sent nothing" : "did not finish",
                                            silent ? deadlines_.silence_ms : deadlines_.total_ms));
  }

  Result<StreamEnd> finish() {
    int waiting = 0;
    const CURLMsg* done = curl_multi_info_read(multi_.get(), &waiting);
    AGENTD_CHECK(done != nullptr, "libcurl ended a transfer and has no result");
    const CURLcode code = done->data.result;
    if (code == CURLE_OK) return StreamEnd::kComplete;
    if (head_given_) return StreamEnd::kCut;
    const bool late = code == CURLE_OPERATION_TIMEDOUT;
    const bool unknown_ca = code == CURLE_PEER_FAILED_VERIFICATION && request_.ca.empty();
    return fail(late ? Code::kTimeout : Code::kUnavailable,
                fmt::format("{}: {}{}", request_.url, why_[0] != '\0' ? why_ : curl_easy_strerror(code),
                            unknown_ca ? "; name the CA of its certificate with --ca FILE or AGENTD_CA" : ""));
  }

  const HttpRequest& request_;
  const Deadlines& deadlines_;
  const Stop& stop_;
  const StreamSink& sink_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  ResponseHead head_;
  bool head_given_ = false;
  bool refused_ = false;  // the sink wants no more
  std::int64_t started_ms_ = 0;
  std::int64_t last_byte_ms_ = 0;
  char why_[CURL_ERROR_SIZE] = {};
};

}  // namespace

std::string_view ResponseHead::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

Result<StreamEnd> http_stream(const HttpRequest& request, const Deadlines& deadlines, const Stop& stop,
                              const StreamSink& sink) {
  return Transfer(request, deadlines, stop, sink).run();
}

Result<HttpResponse> http_request(const HttpRequest& request, const Deadlines& deadlines, const Stop& stop) {
  HttpResponse response;
  bool too_long = false;
  const StreamSink sink{.head =
                            [&](const ResponseHead& head) {
                              response.head = head;
                              return true;
                            },
                        .body =
                            [&](std::string_view piece) {
                              too_long = response.body.size() + piece.size() > kMaxBody;
                              if (!too_long) response.body += piece;
                              return !too_long;
                            }};
  const auto end = http_stream(request, deadlines, stop, sink);
  if (!end) return std::unexpected(end.error());
  if (too_long)
    return fail(Code::kUnavailable, fmt::format("{}: the answer is longer than {} bytes", request.url, kMaxBody));
  switch (*end) {
    case StreamEnd::kComplete: return response;
    case StreamEnd::kCut: return fail(Code::kUnavailable, request.url + ": the connection was cut within the answer");
    case StreamEnd::kSilent: return fail(Code::kTimeout, request.url + " fell silent within the answer");
    case StreamEnd::kStopped: break;
  }
  return fail(Code::kTimeout, request.url + ": stopped before the answer came");
}

}  // namespace agentd::client
