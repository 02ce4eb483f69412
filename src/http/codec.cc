#include "http/codec.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>

#include "http/target.h"

namespace agentd::http {

namespace beast = boost::beast::http;
using boost::beast::error_code;
using Text = boost::beast::string_view;

namespace {

using Refusal = RequestParser::Refusal;

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::size_t kLastChunkBytes = 5;

std::string_view view(Text text) { return {text.data(), text.size()}; }

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Of "GET / HTTP/2.0": well-formed, but not ours. Beast calls this and garbage by the same name.
bool is_other_version(std::string_view request_line) {
  const auto version = request_line.substr(request_line.rfind(' ') + 1);
  return version.size() == 8 && version.starts_with("HTTP/") && is_decimal(version[5]) && version[6] == '.' &&
         is_decimal(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

// What has to be judged on the raw lines, before Beast unfolds them. `head` ends with the empty line.
std::optional<Refusal> check_lines(std::string_view head, std::size_t most_fields) {
  const auto end_of_first = head.find("\r\n");
  if (is_other_version(head.substr(0, end_of_first))) return Refusal{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  std::size_t fields = 0;
  for (auto at = end_of_first + 2; !head.substr(at).starts_with("\r\n"); at = head.find("\r\n", at) + 2) {
    if (head[at] == ' ' || head[at] == '\t') return Refusal{400, "folded header line"};
    if (++fields > most_fields) return Refusal{431, "too many header fields"};
  }
  return std::nullopt;
}

bool is_host(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return is_decimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-._~:[]%").contains(c);
  });
}

Refusal too_large() { return {413, "body too large"}; }

Refusal refusal_of(const error_code& error) {
  if (error == beast::error::header_limit) return {431, "header too large"};
  if (error == beast::error::body_limit) return too_large();
  return {400, error.message()};
}

}  // namespace

class RequestParser::Reader final : public beast::basic_parser<true> {
 public:
  explicit Reader(const ParserLimits& limits) : limits_(limits) {
    // Its limit of the header is ours already when it sees the header; a trailer is bounded the same way. That of the
    // body waits until the header was taken apart.
    header_limit(std::numeric_limits<std::uint32_t>::max());
    body_limit(boost::none);
  }

  std::size_t feed(std::string_view bytes) {
    if (state_ == State::kHead) return feed_head(bytes);
    return state_ == State::kBody ? feed_body(bytes) : 0;
  }

  void refuse(Refusal refusal) {
    state_ = State::kRefused;
    refusal_ = std::move(refusal);
  }

  State state_ = State::kHead;
  Refusal refusal_;
  Request request_;
  int version_ = 11;
  bool expects_continue_ = false;

 private:
  std::size_t feed_head(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  std::size_t put_some(std::string_view bytes, error_code& error);
  void reject(int status, std::string_view reason, error_code& error);
  void check_framing(error_code& error);
  void set_target(error_code& error);

  void on_request_impl(beast::verb, Text method, Text target, int version, error_code&) override {
    version_ = version;
    request_.method = view(method);
    target_ = view(target);
  }
  void on_field_impl(beast::field, Text name, Text value, error_code& error) override;
  void on_header_impl(error_code& error) override {
    check_framing(error);
    if (!error) set_target(error);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(Text body, error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text extensions, error_code& error) override;
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_response_impl(int, Text, int, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  const ParserLimits limits_;
  std::size_t searched_ = 0;  // of the header's bytes, without finding its end
  bool skipped_line_ = false;
  std::size_t trailers_ = 0;
  std::string target_;
};

std::size_t RequestParser::Reader::put_some(std::string_view bytes, error_code& error) {
  const auto used = put({bytes.data(), bytes.size()}, error);
  // A callback's own refusal says more than the error that it stopped Beast with.
  if (error && error != beast::error::need_more && state_ != State::kRefused) refuse(refusal_of(error));
  return used;
}

std::size_t RequestParser::Reader::feed_head(std::string_view bytes) {
  // RFC 9112 2.2: an empty line left over from the request before is overlooked.
  if (!skipped_line_ && bytes.starts_with("\r\n")) {
    skipped_line_ = true;
    searched_ = 0;
    return 2 + feed_head(bytes.substr(2));
  }
  const auto found =
      bytes.substr(0, limits_.header_bytes).find(kEndOfHead, searched_ - std::min<std::size_t>(searched_, 3));
  if (found == std::string_view::npos) {
    if (bytes.size() >= limits_.header_bytes) refuse({431, "header too large"});
    searched_ = bytes.size();
    return 0;
  }
  const auto head = bytes.substr(0, found + kEndOfHead.size());
  if (auto refusal = check_lines(head, limits_.header_fields)) {
    refuse(std::move(*refusal));
    return 0;
  }
  error_code error;
  const auto used = put_some(head, error);
  if (state_ == State::kRefused) return 0;
  if (error || used != head.size()) {
    refuse({400, "malformed header"});
    return 0;
  }
  state_ = is_done() ? State::kDone : State::kBody;
  if (content_length().value_or(0) > limits_.body_bytes) {
    refuse(too_large());
    state_ = State::kOversized;
  }
  return used;
}

std::size_t RequestParser::Reader::feed_body(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !is_done()) {
    // Beast asserts that it is not shown the last chunk ("0 CRLF CRLF") in smaller pieces. No body ends in
    // less either.
    if (chunked() && bytes.size() - used < kLastChunkBytes) break;
    // A chunk's line and the trailer it takes whole. It is shown no more than they may have, so that whether they are
    // too large does not depend on how much has arrived at once.
    error_code error;
    // Beast takes a chunk off its limit anew each time that it is shown a line with a quote that is not closed yet.
    if (chunked()) body_limit(limits_.body_bytes - request_.body.size());
    const auto more = put_some(bytes.substr(used, limits_.header_bytes), error);
    if (state_ == State::kRefused) return used;
    used += more;
    if (more > 0 || error != beast::error::need_more) continue;
    if (bytes.size() - used > limits_.header_bytes) refuse({431, "trailer too large"});
    return used;
  }
  if (is_done()) state_ = State::kDone;
  return used;
}

void RequestParser::Reader::reject(int status, std::string_view reason, error_code& error) {
  refuse({status, std::string(reason)});
  error = beast::error::bad_value;
}

void RequestParser::Reader::on_field_impl(beast::field, Text name, Text value, error_code& error) {
  if (state_ == State::kBody) {
    if (++trailers_ > limits_.header_fields) reject(431, "too many trailer fields", error);
    return;
  }
  request_.headers.emplace_back(view(name), view(value));
}

void RequestParser::Reader::check_framing(error_code& error) {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  for (const auto& [name, value] : request_.headers) {
    if (same_name(name, "host")) {
      ++hosts;
      if (!is_host(value)) return reject(400, "malformed Host", error);
    } else if (same_name(name, "content-length")) {
      ++lengths;
      if (!std::ranges::all_of(value, is_decimal)) return reject(400, "malformed Content-Length", error);
    } else if (same_name(name, "transfer-encoding")) {
      ++encodings;
      if (!same_name(value, "chunked")) return reject(400, "Transfer-Encoding other than chunked", error);
    } else if (same_name(name, "expect")) {
      if (!same_name(value, "100-continue")) return reject(417, "Expect other than 100-continue", error);
      expects_continue_ = version_ == 11;
    }
  }
  if (hosts > 1 || (hosts == 0 && version_ == 11)) return reject(400, "exactly one Host is needed", error);
  if (lengths + encodings > 1) return reject(400, "more than one length of the body", error);
  if (encodings > 0 && version_ == 10) return reject(400, "Transfer-Encoding in HTTP/1.0", error);
}

void RequestParser::Reader::set_target(error_code& error) {
  auto target = http::parse_target(target_, request_.method);
  if (!target) return reject(400, target.error().message, error);
  // A target with a host of its own overrides Host (RFC 9112 3.2.2): where they differ, somebody is being
  // misled.
  if (!target->authority.empty() &&
      !same_name(target->authority, request_.header("host").value_or(target->authority))) {
    return reject(400, "Host differs from the target's", error);
  }
  request_.path = std::move(target->path);
  request_.query = std::move(target->query);
}

void RequestParser::Reader::on_chunk_header_impl(std::uint64_t, Text extensions, error_code& error) {
  // Beast lets a bare line feed by inside a quoted value, where other readers see the end of the line.
  const bool plain =
      std::ranges::none_of(extensions, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; });
  if (!plain) reject(400, "malformed chunk extension", error);
}

RequestParser::RequestParser(const ParserLimits& limits) : reader_(std::make_unique<Reader>(limits)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::feed(std::string_view bytes) { return reader_->feed(bytes); }

RequestParser::State RequestParser::state() const { return reader_->state_; }
const RequestParser::Refusal& RequestParser::refusal() const { return reader_->refusal_; }
Request& RequestParser::request() { return reader_->request_; }
bool RequestParser::http10() const { return reader_->version_ == 10; }
bool RequestParser::keep_alive() const { return !http10() && reader_->keep_alive(); }
bool RequestParser::expects_continue() const { return reader_->expects_continue_; }

}  // namespace agentd::http
