#include "client/feed_cursor.h"

#include <charconv>
#include <optional>

namespace agentd::client {
namespace {

std::optional<std::uint64_t> count(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (!found->is_number_unsigned() && found->get<std::int64_t>() < 0) return std::nullopt;
  return found->get<std::uint64_t>();
}

}  // namespace

void FeedCursor::connect() {
  phase_ = Phase::kBeforeHello;
  floor_ = cursor_;
}

Result<FeedCursor::Meaning> FeedCursor::take_frame(const Json& frame) {
  if (!frame.is_object() || frame.size() != 1 || !frame.begin()->is_object()) {
    return fail(Code::kParse, "the feed sent something that is no frame");
  }
  if (phase_ == Phase::kOver) return fail(Code::kParse, "the feed sent a frame after its goodbye");
  const std::string& type = frame.begin().key();
  const Json& body = *frame.begin();
  if ((type == "hello") != (phase_ == Phase::kBeforeHello)) {
    return fail(Code::kParse,
                phase_ == Phase::kOpen ? "the feed sent a second hello" : "the feed began without a hello");
  }
  if (type == "hello") return take_hello(body);
  if (type == "event") return take_event(body);
  if (type == "goodbye") return take_goodbye(body);
  return fail(Code::kParse, "the feed sent a frame of an unknown type");
}

Result<FeedCursor::Meaning> FeedCursor::take_hello(const Json& hello) {
  const auto seq = count(hello, "seq");
  const auto resync = hello.find("resync");
  if (!seq || resync == hello.end() || !resync->is_boolean()) return fail(Code::kParse, "the feed sent a broken hello");
  phase_ = Phase::kOpen;
  if (!resync->get<bool>()) return Meaning::kHello;
  cursor_ = *seq;
  floor_ = 0;
  return Meaning::kResync;
}

Result<FeedCursor::Meaning> FeedCursor::take_event(const Json& event) {
  const auto seq = count(event, "seq");
  if (!seq) return fail(Code::kParse, "the feed sent an event without a seq");
  if (*seq <= floor_) return Meaning::kRepeat;
  advance(*seq);
  return Meaning::kEvent;
}

Result<FeedCursor::Meaning> FeedCursor::take_goodbye(const Json& goodbye) {
  const auto seq = count(goodbye, "seq");
  const auto reason = goodbye.find("reason");
  if (!seq || reason == goodbye.end()) return fail(Code::kParse, "the feed sent a broken goodbye");
  phase_ = Phase::kOver;
  if (*seq >= floor_) advance(*seq);
  if (*reason == "deadline") return Meaning::kDeadline;
  if (*reason == "revoked") return Meaning::kRevoked;
  return fail(Code::kParse, "the feed said goodbye for an unknown reason");
}

void FeedCursor::take_comment(std::string_view comment) {
  std::uint64_t seq = 0;
  const auto [end, code] = std::from_chars(comment.data(), comment.data() + comment.size(), seq);
  const bool bookmark = code == std::errc() && end == comment.data() + comment.size();
  if (bookmark && phase_ == Phase::kOpen && seq > floor_) advance(seq);
}

}  // namespace agentd::client
