// A form: what is taken is within its bounds, and is the same when it is written down again and read once more.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/form.h"

namespace {

std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto form = agentd::wire::read_form(body);
  if (!form) return 0;
  AGENTD_CHECK(size <= 4'096, "a longer form is refused");
  std::set<std::string> names;
  std::string again;
  for (const auto& [name, value] : *form) {
    AGENTD_CHECK(names.insert(name).second, "no name comes twice");
    AGENTD_CHECK(name.find('\0') == std::string::npos && value.find('\0') == std::string::npos, "no NUL comes through");
    again += encoded(name) + "=" + encoded(value) + "&";
  }
  if (again.size() > 4'096) return 0;
  const auto second = agentd::wire::read_form(again);
  AGENTD_CHECK(second && *second == *form, "what was read is what was meant");
  return 0;
}
