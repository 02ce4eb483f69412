#include "client/rpc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "client/rpc_error.h"
#include "http/sse_reader.h"

namespace agentd::client {
namespace {

// Each call is a connection of its own, so one id will do.
constexpr int kId = 1;
// Of one answer: a page of tasks with their history, or an event of the largest size.
constexpr JsonLimits kLimits{.bytes = 64U << 20U, .depth = 256, .members = 65'536};

// The result of one JSON-RPC response, or its error.
Result<Json> open_response(std::string_view text) {
  auto response = parse_json(text, kLimits);
  if (!response) return std::unexpected(response.error());
  if (!response->is_object()) return fail(Code::kParse, "the server answers JSON that is no JSON-RPC response");
  if (const auto error = response->find("error"); error != response->end()) {
    return std::unexpected(decode_rpc_error(*error));
  }
  const auto id = response->find("id");
  const auto result = response->find("result");
  if (result == response->end() || id == response->end() || *id != kId) {
    return fail(Code::kParse, "the server answers JSON that is no response to this request");
  }
  return std::move(*result);
}

// An answer to `stream`: either events, or one JSON document (a refusal, as a rule).
class StreamAnswer final {
 public:
  explicit StreamAnswer(const RpcSink& sink) : sink_(sink) {}

  bool take_head(const ResponseHead& head) {
    head_ = head;
    events_ = head.status == 200 && head.header("content-type").starts_with("text/event-stream");
    return true;
  }

  bool take_body(std::string_view piece) {
    if (!events_) {
      if (plain_.size() + piece.size() > kLimits.bytes)
        return refuse({.code = Code::kParse, .message = "the answer is too long"});
      plain_ += piece;
      return true;
    }
    items_.clear();
    if (const auto read = reader_.read(piece, items_); !read) return refuse(read.error());
    for (const auto& item : items_) {
      if (!take_item(item)) return false;
    }
    return true;
  }

  Result<StreamEnd> finish(StreamEnd end) {
    if (error_) return std::unexpected(*error_);
    if (events_ || end != StreamEnd::kComplete) return end;
    if (head_.status != 200) return std::unexpected(decode_http_error(head_, plain_));
    auto result = open_response(plain_);
    if (!result) return std::unexpected(result.error());
    return sink_.result(*result) ? StreamEnd::kComplete : StreamEnd::kStopped;
  }

 private:
  bool take_item(const http::SseItem& item) {
    if (item.type == http::SseItem::Type::kComment) return sink_.comment(item.data);
    auto result = open_response(item.data);
    if (!result) return refuse(result.error());
    return sink_.result(*result);
  }

  bool refuse(Error error) {
    error_ = std::move(error);
    return false;
  }

  const RpcSink& sink_;
  ResponseHead head_;
  bool events_ = false;
  std::string plain_;
  http::SseReader reader_;
  std::vector<http::SseItem> items_;
  std::optional<Error> error_;
};

}  // namespace

HttpRequest Rpc::request_for(const Call& call, std::string_view accept) const {
  HttpRequest request{
      .url = endpoint_.url,
      .headers = {{"Content-Type", "application/json"}, {"Accept", std::string(accept)}, {"A2A-Version", "1.0"}},
      .body = dump_json({{"jsonrpc", "2.0"}, {"id", kId}, {"method", call.method}, {"params", call.params}}),
      .ca = endpoint_.ca};
  if (!call.extensions.empty())
    request.headers.emplace_back("A2A-Extensions", fmt::format("{}", fmt::join(call.extensions, ",")));
  if (!endpoint_.token.empty()) request.headers.emplace_back("Authorization", "Bearer " + endpoint_.token);
  return request;
}

Result<Json> Rpc::call(const Call& call) const {
  const auto response = http_request(request_for(call, "application/json"), call.deadlines, stop_);
  if (!response) return std::unexpected(response.error());
  if (response->head.status != 200) return std::unexpected(decode_http_error(response->head, response->body));
  return open_response(response->body);
}

Result<StreamEnd> Rpc::stream(const Call& call, const RpcSink& sink) const {
  StreamAnswer answer(sink);
  const StreamSink pieces{.head = [&](const ResponseHead& head) { return answer.take_head(head); },
                          .body = [&](std::string_view piece) { return answer.take_body(piece); }};
  const auto end = http_stream(request_for(call, "text/event-stream, application/json"), call.deadlines, stop_, pieces);
  if (!end) return std::unexpected(end.error());
  return answer.finish(*end);
}

}  // namespace agentd::client
