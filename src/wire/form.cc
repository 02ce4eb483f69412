#include "wire/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace agentd::wire {
namespace {

constexpr std::size_t kFields = 16;

}  // namespace

Result<http::Query> read_form(std::string_view body) {
  if (body.size() > kFormBytes) return fail(Code::kInvalidParams, "the form has more than 4,096 bytes");
  auto form = http::parse_query(body);
  if (!form) return fail(Code::kInvalidParams, form.error().message);
  if (form->size() > kFields) return fail(Code::kInvalidParams, "the form has more than 16 fields");
  for (auto at = form->begin(); at != form->end(); ++at) {
    if (std::any_of(form->begin(), at, [&](const auto& before) { return before.first == at->first; })) {
      return fail(Code::kInvalidParams, fmt::format("{} is there twice", quote_json(cut_text(at->first, 40))));
    }
  }
  return *std::move(form);
}

std::string field(const http::Query& form, std::string_view name) {
  const auto at = std::ranges::find(form, name, &std::pair<std::string, std::string>::first);
  return at == form.end() ? "" : at->second;
}

}  // namespace agentd::wire
