// The order of steps: needs first, otherwise as they were written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workflow/model.h"

namespace agentd::workflow {

struct OrderFault {
  std::string step;      // whose needs are wrong
  std::size_t need = 0;  // which of them
  std::string message;
};

// Sorts `steps` topologically, and stably. Returns every need that names no step, and of each circle the need
// that closes it; then the order of `steps` is unspecified. Cost: steps times needs.
[[nodiscard]] std::vector<OrderFault> sort_by_needs(std::vector<StepSpec>& steps);

}  // namespace agentd::workflow
