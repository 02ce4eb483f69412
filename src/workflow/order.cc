#include "workflow/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/document.h"

namespace agentd::workflow {
namespace {

// Depth first over the needs. `path_` holds the steps between the start and here: a need that leads back into
// it closes a circle. Depth is bounded by the number of steps.
class Sorter final {
 public:
  explicit Sorter(const std::vector<StepSpec>& steps) : steps_(steps), seen_(steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i) index_[steps[i].id] = i;
  }

  void visit(std::size_t at) {
    if (seen_[at]) return;
    seen_[at] = true;
    path_.push_back(at);
    const StepSpec& step = steps_[at];
    for (std::size_t i = 0; i < step.needs.size(); ++i) {
      const auto need = index_.find(step.needs[i]);
      if (need == index_.end()) {
        faults.push_back({.step = step.id, .need = i, .message = unknown(step.needs[i])});
      } else if (const auto start = std::ranges::find(path_, need->second); start != path_.end()) {
        faults.push_back({.step = step.id, .need = i, .message = circle(start)});
      } else {
        visit(need->second);
      }
    }
    path_.pop_back();
    order.push_back(at);
  }

  std::vector<std::size_t> order;
  std::vector<OrderFault> faults;

 private:
  std::string unknown(const std::string& need) const {
    std::vector<std::string> ids;
    for (const StepSpec& step : steps_) ids.push_back(step.id);
    const std::string near = nearest(need, ids);
    return fmt::format("there is no step \"{}\"{}", need, near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }

  std::string circle(std::vector<std::size_t>::const_iterator start) const {
    std::string out = "the steps wait for each other: ";
    for (auto at = start; at != path_.end(); ++at) out += fmt::format("{} needs ", steps_[*at].id);
    return out + steps_[*start].id;
  }

  const std::vector<StepSpec>& steps_;
  std::vector<bool> seen_;
  std::vector<std::size_t> path_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace

std::vector<OrderFault> sort_by_needs(std::vector<StepSpec>& steps) {
  Sorter sorter(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) sorter.visit(i);
  std::vector<StepSpec> sorted;
  sorted.reserve(steps.size());
  for (const std::size_t at : sorter.order) sorted.push_back(std::move(steps[at]));
  steps = std::move(sorted);
  return std::move(sorter.faults);
}

}  // namespace agentd::workflow
