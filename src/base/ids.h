// Random identifiers, from the kernel's generator: they name things and are not guessable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace agentd {

[[nodiscard]] std::string random_hex(std::size_t digits);  // lower case
[[nodiscard]] std::string random_uuid();                   // version 4
[[nodiscard]] std::uint64_t random_u64();

}  // namespace agentd
