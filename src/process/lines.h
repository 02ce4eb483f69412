// Lines: the lines of a child's output as they come. One longer than the cap is passed over, and its bytes are counted.
// Confined to one thread. Memory: the cap at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace agentd::process {

class Lines final {
 public:
  using Take = std::function<void(std::string_view line)>;
  Lines(std::size_t cap, Take take) : cap_(cap), take_(std::move(take)) {}

  void append(std::string_view bytes) {
    for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
      add(bytes.substr(0, end));
      finish();
    }
    add(bytes);
  }
  // At the end of the output: a line without its end is one too.
  void finish() {
    if (std::exchange(too_long_, false)) return line_.clear();
    if (line_.ends_with('\r')) line_.pop_back();
    const std::string line = std::exchange(line_, {});
    if (!line.empty()) take_(line);
  }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void add(std::string_view bytes) {
    if (too_long_ || line_.size() + bytes.size() > cap_) {
      dropped_ += bytes.size() + line_.size();
      line_.clear();
      too_long_ = true;
    } else {
      line_ += bytes;
    }
  }

  const std::size_t cap_;
  const Take take_;
  std::string line_;
  bool too_long_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace agentd::process
