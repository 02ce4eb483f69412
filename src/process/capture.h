// Capture: what is kept of a child's output, the first or the last `cap` bytes, and a count of the rest.
// Values. Memory: the cap for the first bytes, twice the cap for the last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace agentd::process {

class Capture final {
 public:
  enum class Keep : std::uint8_t { kFirst, kLast };
  Capture(std::size_t cap, Keep keep) : cap_(cap), keep_(keep) {}

  void append(std::string_view bytes) {
    if (keep_ == Keep::kFirst) {
      const std::size_t room = cap_ - kept_.size();
      kept_.append(bytes.substr(0, room));
      dropped_ += bytes.size() - std::min(room, bytes.size());
      return;
    }
    kept_.append(bytes);
    if (kept_.size() > 2 * cap_) cut_front();
  }

  // What was kept; once, at the end. dropped() is final after it.
  [[nodiscard]] std::string take() {
    if (kept_.size() > cap_) cut_front();
    return std::move(kept_);
  }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void cut_front() {
    dropped_ += kept_.size() - cap_;
    kept_.erase(0, kept_.size() - cap_);
  }

  std::size_t cap_;
  Keep keep_;
  std::string kept_;
  std::uint64_t dropped_ = 0;
};

}  // namespace agentd::process
