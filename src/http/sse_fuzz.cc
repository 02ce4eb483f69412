// The same bytes, whole and byte by byte, must give the same items; nothing may crash or pass the bound.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "http/sse_reader.h"

namespace {

using agentd::http::SseItem;
using agentd::http::SseReader;

constexpr std::size_t kBound = 64;

std::vector<SseItem> read_in_pieces(std::string_view bytes, std::size_t size, bool& ok) {
  SseReader reader(kBound);
  std::vector<SseItem> items;
  ok = true;
  for (; ok && !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    ok = reader.read(bytes.substr(0, size), items).has_value();
  }
  return items;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool whole_ok = false;
  bool single_ok = false;
  const auto whole = read_in_pieces(bytes, size == 0 ? 1 : size, whole_ok);
  const auto single = read_in_pieces(bytes, 1, single_ok);
  AGENTD_CHECK(whole_ok == single_ok, "the bound depends on how the bytes are cut");
  AGENTD_CHECK(whole.size() == single.size(), "the items depend on how the bytes are cut");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    AGENTD_CHECK(whole[i].data == single[i].data && whole[i].event == single[i].event && whole[i].id == single[i].id,
                 "an item depends on how the bytes are cut");
    AGENTD_CHECK(whole[i].data.size() <= kBound, "an item is longer than the bound");
  }
  return 0;
}
