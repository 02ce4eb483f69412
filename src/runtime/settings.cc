#include "runtime/settings.h"

#include <utility>

namespace agentd::runtime {

void Settings::reload(config::Snapshot config, const std::vector<std::string>& paths) {
  take(std::move(config), paths, "reload");
}

Result<Done> Settings::set(const Json& args, const std::string& field) {
  if (!args["value"].is_boolean()) {
    return std::unexpected(Error{.code = Code::kInvalidParams,
                                 .message = field + ".value must be true or false",
                                 .violations = {{field + ".value", "must be true or false"}}});
  }
  config::Snapshot next = now_;
  next.a2a.introspection = args["value"];
  const auto paths = config::changes(now_, next);
  if (!paths.empty()) take(std::move(next), paths, "admin.set");
  return Done{.result = args, .target = args};
}

void Settings::take(config::Snapshot config, const std::vector<std::string>& paths, const char* source) {
  now_ = std::move(config);
  feed_.set_introspection(now_.a2a.introspection);
  feed_.push(feed::Visibility::all(), feed::Config{.paths = paths, .source = source});
}

}  // namespace agentd::runtime
