#include "access/device_codes.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/digest.h"
#include "base/ids.h"

namespace agentd::access {
namespace {

constexpr std::string_view kLetters =
    "BCDFGHJKLMNPQRSTVWXZ";  // no vowels, so no words; nothing that looks like a digit
constexpr std::size_t kCodeLetters = 8;
constexpr std::size_t kDeviceCodeDigits = 64;
constexpr std::size_t kOfASource = 4, kOfANetwork = 16, kInAll = 64;
constexpr std::int64_t kSlowDownMs = 5'000;

std::string random_user_code() {
  std::string code;
  while (code.size() < kCodeLetters) {
    // Five bits at a time; those past the last letter are thrown away, so that no letter is more likely than another.
    for (std::uint64_t bits = random_u64(), left = 12; left > 0 && code.size() < kCodeLetters; --left, bits >>= 5U) {
      const std::uint64_t letter = bits & 31U;
      if (letter < kLetters.size()) code += kLetters[letter];
    }
  }
  return code.insert(kCodeLetters / 2, "-");
}

}  // namespace

std::string normal_user_code(std::string_view typed) {
  std::string code;
  for (const char c : typed) {
    if (c == '-' || c == ' ') continue;
    const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (!kLetters.contains(upper) || code.size() == kCodeLetters) return "";
    code += upper;
  }
  if (code.size() != kCodeLetters) return "";
  return code.insert(kCodeLetters / 2, "-");
}

DeviceCodes::Asked DeviceCodes::ask(DeviceAsk ask) {
  forget_old();
  make_room(ask);
  Entry entry{.request = {.ask = std::move(ask), .requested_ms = clock_.wall_ms()},
              .deadline_ms = clock_.mono_ms() + ttl_ms_};
  entry.request.expires_ms = entry.request.requested_ms + ttl_ms_;
  do {
    entry.request.user_code = random_user_code();
  } while (waiting(entry.request.user_code) != nullptr);
  Asked asked{.device_code = random_hex(kDeviceCodeDigits), .user_code = entry.request.user_code};
  entries_.emplace(sha256_hex(asked.device_code), std::move(entry));
  return asked;
}

DeviceCodes::Polled DeviceCodes::poll(std::string_view device_code, std::string_view client_id) {
  const auto at = entries_.find(sha256_hex(device_code));
  if (at == entries_.end() || at->second.request.ask.client_id != client_id) return {.poll = Poll::kInvalid};
  Entry& entry = at->second;
  const std::int64_t now = clock_.mono_ms();
  if (now >= entry.deadline_ms) return {.poll = Poll::kExpired};
  const std::optional<std::int64_t> before = std::exchange(entry.polled_ms, now);
  if (before && now - *before < entry.interval_ms) {
    entry.interval_ms += kSlowDownMs;
    return {.poll = Poll::kSlowDown};
  }
  if (entry.outcome == Outcome::kWaiting) return {.poll = Poll::kPending};
  const Entry over = std::move(entry);
  entries_.erase(at);
  if (over.outcome == Outcome::kDenied) return {.poll = Poll::kDenied};
  return {.poll = Poll::kApproved, .request = over.request, .approval = over.approval};
}

std::vector<DeviceRequest> DeviceCodes::pending() const {
  std::vector<DeviceRequest> out;
  for (const Entry& entry : std::views::values(entries_)) {
    if (is_waiting(entry)) out.push_back(entry.request);
  }
  std::ranges::sort(out, {}, [](const DeviceRequest& one) { return std::pair(one.requested_ms, one.user_code); });
  return out;
}

std::optional<DeviceRequest> DeviceCodes::find(std::string_view user_code) {
  const Entry* const entry = waiting(user_code);
  return entry == nullptr ? std::nullopt : std::optional(entry->request);
}

std::optional<DeviceRequest> DeviceCodes::approve(std::string_view user_code, Approval approval) {
  Entry* const entry = waiting(user_code);
  if (entry == nullptr) return std::nullopt;
  entry->outcome = Outcome::kApproved;
  entry->approval = std::move(approval);
  return entry->request;
}

std::optional<DeviceRequest> DeviceCodes::deny(std::string_view user_code) {
  const std::string code = normal_user_code(user_code);
  for (Entry& entry : std::views::values(entries_)) {
    if (entry.request.user_code != code || entry.outcome == Outcome::kDenied || !is_alive(entry)) continue;
    entry.outcome = Outcome::kDenied;
    return entry.request;
  }
  return std::nullopt;
}

std::vector<DeviceRequest> DeviceCodes::withdraw(const std::function<bool(const Approval&)>& which) {
  std::vector<DeviceRequest> out;
  for (Entry& entry : std::views::values(entries_)) {
    if (entry.outcome != Outcome::kApproved || !is_alive(entry) || !which(entry.approval)) continue;
    entry.outcome = Outcome::kDenied;
    out.push_back(entry.request);
  }
  return out;
}

bool DeviceCodes::is_waiting(const Entry& entry) const { return entry.outcome == Outcome::kWaiting && is_alive(entry); }

DeviceCodes::Entry* DeviceCodes::waiting(std::string_view user_code) {
  const std::string code = normal_user_code(user_code);
  for (Entry& entry : std::views::values(entries_)) {
    if (entry.request.user_code == code && is_waiting(entry)) return &entry;
  }
  return nullptr;
}

// Where a limit is met, the oldest goes of the source that has the most waiting of those that the limit counts; of
// several, the one that has waited longest.
void DeviceCodes::make_room(const DeviceAsk& ask) {
  struct Share {
    std::size_t count = 0;
    Entries::iterator oldest;
  };
  const auto thin_out = [this](std::size_t most, auto counts) {
    std::map<std::string, Share> by_source;
    std::size_t all = 0;
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (!is_waiting(at->second) || !counts(at->second)) continue;
      Share& share = by_source[at->second.request.ask.source];
      if (share.count == 0 || at->second.deadline_ms < share.oldest->second.deadline_ms) share.oldest = at;
      ++share.count;
      ++all;
    }
    if (all < most) return;
    const auto loudest = std::ranges::max_element(by_source, [](const auto& a, const auto& b) {
      if (a.second.count != b.second.count) return a.second.count < b.second.count;
      return a.second.oldest->second.deadline_ms > b.second.oldest->second.deadline_ms;
    });
    entries_.erase(loudest->second.oldest);
  };
  thin_out(kOfASource, [&](const Entry& entry) { return entry.request.ask.source == ask.source; });
  thin_out(kOfANetwork, [&](const Entry& entry) { return entry.request.ask.network == ask.network; });
  thin_out(kInAll, [](const Entry&) { return true; });
}

// An expired code is remembered as long again, so that its device is told what happened.
void DeviceCodes::forget_old() {
  std::erase_if(entries_, [&](const auto& entry) { return clock_.mono_ms() >= entry.second.deadline_ms + ttl_ms_; });
}

}  // namespace agentd::access
