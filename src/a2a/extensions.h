// The extensions this daemon serves, and which of them a request activated (a2a.md section 6, events.md section 2).
// Pure values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentd::a2a {

enum class Extension : std::uint8_t { kCommand, kEvents, kTaskAnnotations };  // in registry order
inline constexpr std::array kExtensions = {Extension::kCommand, Extension::kEvents, Extension::kTaskAnnotations};

[[nodiscard]] std::string_view uri(Extension extension);
[[nodiscard]] std::string_view name(Extension extension);  // "events": the last segment of its URI

// A set of extensions: those declared by the instance, or those activated by a request.
class Extensions {
 public:
  [[nodiscard]] bool has(Extension extension) const { return (bits_ & bit(extension)) != 0; }
  void add(Extension extension) { bits_ = static_cast<std::uint8_t>(bits_ | bit(extension)); }
  [[nodiscard]] bool empty() const { return bits_ == 0; }

 private:
  static std::uint8_t bit(Extension extension) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(extension));
  }
  std::uint8_t bits_ = 0;
};

// Those without which nothing is served here (A2A section 3.3.4): none. What is required is declared always.
inline constexpr Extensions kRequired;

inline constexpr std::size_t kMaxTokens = 32;       // of the header that are looked at
inline constexpr std::size_t kMaxTokenBytes = 512;  // a longer one names nothing

// `header`: all A2A-Extensions lines, joined with commas. Nothing in it is an error.
[[nodiscard]] Extensions activated(std::string_view header, const Extensions& declared);
// The value of the response's A2A-Extensions header, in registry order; "" when none was activated.
[[nodiscard]] std::string echo(const Extensions& activated);
// kExtensionSupportRequired, unless all that are required are active. Metadata: `extensions`, those that are missing.
[[nodiscard]] Status check_required(const Extensions& required, const Extensions& active);

}  // namespace agentd::a2a
