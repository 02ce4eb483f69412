// AGENTD_CHECK(condition, message): our own bugs end the process here, with the place and the reason.
// Never for input from outside: that is answered with a Result.
#pragma once

#include <string_view>

namespace agentd {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace agentd

#define AGENTD_CHECK(condition, message)                               \
  do {                                                                 \
    if (!(condition)) [[unlikely]]                                     \
      ::agentd::check_failed(__FILE__, __LINE__, #condition, message); \
  } while (false)
