#include "runtime/settings.h"

#include <utility>

namespace agentd::runtime {

void Settings::reload(config::Snapshot config, const std::vector<std::string>& paths) {
  take(std::move(config), paths, "reload");
}

Result<Done> Settings::set(const Json& args, const std::string& field) {
  const Json& value = args["value"];
  config::Snapshot next = now_;
  std::string expected;
  if (args["path"] == "agent.approval") {
    const auto approval = value.is_string() ? config::approval_of(value.get<std::string>()) : std::nullopt;
    if (approval) {
      next.agent.approval = *approval;
    } else {
      expected = "must be ask, auto or accept";
    }
  } else if (value.is_boolean()) {
    next.a2a.introspection = value;
  } else {
    expected = "must be true or false";
  }
  if (!expected.empty()) {
    return std::unexpected(Error{.code = Code::kInvalidParams,
                                 .message = field + ".value " + expected,
                                 .violations = {{field + ".value", expected}}});
  }
  const auto paths = config::changes(now_, next);
  if (!paths.empty()) take(std::move(next), paths, "admin.set");
  return Done{.result = args, .target = args};
}

void Settings::take(config::Snapshot config, const std::vector<std::string>& paths, const char* source) {
  now_ = std::move(config);
  redactor_ = Redactor(config::secrets_of(now_));
  feed_.set_introspection(now_.a2a.introspection);
  feed_.push(feed::Visibility::all(), feed::Config{.paths = paths, .source = source});
}

}  // namespace agentd::runtime
