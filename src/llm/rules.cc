#include "llm/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/faults.h"
#include "base/time_text.h"
#include "llm/fill.h"

namespace agentd::llm {
namespace {

constexpr std::size_t kMaxRules = 1000;
constexpr std::size_t kMaxActions = 1000;
constexpr std::int64_t kMaxDelayMs = 3'600'000;
constexpr std::array kStates = {State::kCompleted, State::kFailed,        State::kCanceled,
                                State::kRejected,  State::kInputRequired, State::kAuthRequired};
const std::vector<std::string> kContents = {"text", "raw", "url", "data"};

// Standard or URL-safe, padded or not, as the wire takes it.
bool is_base64(const std::string& text) {
  static const RE2 form("[A-Za-z0-9+/_-]*={0,2}");
  return RE2::FullMatch(text, form) && text.size() % 4 != 1;
}

class Reader final {
 public:
  explicit Reader(const Document& document) : document_(document), faults_(document) {}

  std::expected<std::vector<Rule>, std::vector<Fault>> read() {
    std::vector<Rule> rules;
    const Json& root = document_.value;
    if (check_mapping("", root, {"rules"})) {
      const auto list = root.find("rules");
      if (list == root.end() || !list->is_array()) {
        fault("rules", "must be a list of rules", "rules: [{when: {text: hello}, reply: [{text: Hello!}]}]");
      } else if (list->size() > kMaxRules) {
        fault("rules", fmt::format("more than {} rules", kMaxRules));
      } else {
        for (std::size_t i = 0; i < list->size(); ++i) rules.push_back(read_rule(item_path("rules", i), (*list)[i]));
      }
    }
    if (!faults_.empty()) return std::unexpected(faults_.take());
    return rules;
  }

 private:
  // Reads the value of one action, for example of `say`.
  using ReadAction = Action (Reader::*)(const std::string& path, const Json& value);
  struct ActionKey {
    std::string_view name;
    ReadAction read;
  };

  void fault(const std::string& path, std::string message, std::string expected = "") {
    faults_.add(path, std::move(message), std::move(expected));
  }

  // Whether it is a mapping; its unknown keys are faults.
  bool check_mapping(const std::string& path, const Json& value, const std::vector<std::string>& keys) {
    if (!value.is_object()) {
      fault(path, "must be a mapping", fmt::format("{{{}: …}}", keys.front()));
      return false;
    }
    faults_.add_unknown_keys(path, value, keys);
    return true;
  }

  std::string text_of(const std::string& path, const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    fault(path, "must be a string");
    return "";
  }
  // "" when it is left out and need not be there.
  std::string text_at(const std::string& path, const Json& object, const char* key, bool required = false) {
    if (const auto found = object.find(key); found != object.end()) return text_of(member_path(path, key), *found);
    if (required) fault(path, fmt::format("{} is missing", key));
    return "";
  }
  bool flag_at(const std::string& path, const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return false;
    if (!found->is_boolean()) fault(member_path(path, key), "must be true or false");
    return *found == true;
  }
  std::int64_t duration_of(const std::string& path, const Json& value) {
    const auto ms =
        value.is_string() ? parse_duration(value.get<std::string>()) : fail(Code::kInvalidParams, "must be a duration");
    if (!ms) {
      fault(path, ms.error().message, "a duration such as 50ms");
    } else if (*ms > kMaxDelayMs) {
      fault(path, "is longer than an hour");
    }
    return ms.value_or(0);
  }
  std::int64_t duration_at(const std::string& path, const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? 0 : duration_of(member_path(path, key), *found);
  }
  std::optional<std::uint64_t> count_at(const std::string& path, const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    if (found->is_number_integer() && *found >= 1) return found->get<std::uint64_t>();
    fault(member_path(path, key), "must be a number from 1");
    return std::nullopt;
  }

  Rule read_rule(const std::string& path, const Json& value) {
    Rule rule;
    if (!check_mapping(path, value, {"when", "reply"})) return rule;
    if (const auto when = value.find("when"); when != value.end()) read_when(member_path(path, "when"), *when, rule);
    const auto reply = value.find("reply");
    const std::string at = member_path(path, "reply");
    if (reply == value.end() || !reply->is_array() || reply->size() > kMaxActions) {
      fault(reply == value.end() ? path : at, fmt::format("reply must be a list of at most {} actions", kMaxActions),
            "reply: [{text: Hello!}]");
      return rule;
    }
    const std::size_t groups = rule.text ? static_cast<std::size_t>(rule.text->NumberOfCapturingGroups()) : 0;
    for (std::size_t i = 0; i < reply->size(); ++i) {
      check_texts(item_path(at, i), (*reply)[i], groups);
      if (auto action = read_action(item_path(at, i), (*reply)[i])) rule.reply.actions.push_back(std::move(*action));
    }
    check_sequence(at, rule.reply);
    return rule;
  }

  void read_when(const std::string& path, const Json& when, Rule& rule) {
    if (!check_mapping(path, when, {"text", "message_id_prefix", "turn"})) return;
    rule.message_id_prefix = text_at(path, when, "message_id_prefix");
    rule.turn = count_at(path, when, "turn");
    if (!when.contains("text")) return;
    RE2::Options options;
    options.set_log_errors(false);
    auto expression = std::make_shared<const RE2>(text_at(path, when, "text"), options);
    if (!expression->ok()) return fault(member_path(path, "text"), "is no regular expression: " + expression->error());
    rule.text = std::move(expression);
  }

  // Every string of a reply may hold ${…}.
  void check_texts(const std::string& path, const Json& value, std::size_t groups) {
    if (value.is_string()) {
      if (auto wrong = check_fill(value.get_ref<const std::string&>(), groups); !wrong.empty()) {
        fault(path, std::move(wrong));
      }
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) check_texts(item_path(path, i), value[i], groups);
    } else if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) check_texts(member_path(path, key), inner, groups);
    }
  }

  std::optional<Action> read_action(const std::string& path, const Json& value) {
    static constexpr std::array kActions = {
        ActionKey{"text", &Reader::read_text},         ActionKey{"say", &Reader::read_say},
        ActionKey{"artifact", &Reader::read_artifact}, ActionKey{"chunks", &Reader::read_chunks},
        ActionKey{"delay", &Reader::read_delay},       ActionKey{"message", &Reader::read_message},
        ActionKey{"workflow", &Reader::read_workflow}, ActionKey{"tool", &Reader::read_tool}};
    std::vector<std::string> names = {"state"};
    for (const ActionKey& key : kActions) names.emplace_back(key.name);
    const std::size_t faults_before = faults_.size();
    if (!check_mapping(path, value, names) || faults_.size() > faults_before) return std::nullopt;
    if (value.contains("state")) return read_state(path, value);
    if (value.size() != 1) {
      fault(path, "is one action each", fmt::format("one of {}", fmt::join(names, ", ")));
      return std::nullopt;
    }
    const std::string& name = value.begin().key();
    const auto found = std::ranges::find(kActions, name, &ActionKey::name);
    return (this->*found->read)(member_path(path, name), *value.begin());
  }

  Action read_text(const std::string& path, const Json& value) { return Text{text_of(path, value)}; }
  Action read_say(const std::string& path, const Json& value) { return Say{text_of(path, value)}; }
  Action read_delay(const std::string& path, const Json& value) { return Delay{duration_of(path, value)}; }

  Action read_state(const std::string& path, const Json& value) {
    check_mapping(path, value, {"state", "message"});
    const std::string name = text_at(path, value, "state");
    const auto found = std::ranges::find(kStates, name, [](State state) { return to_string(state); });
    if (found == kStates.end()) {
      std::vector<std::string> names;
      for (const State state : kStates) names.emplace_back(to_string(state));
      fault(member_path(path, "state"), "unknown state", fmt::format("one of {}", fmt::join(names, ", ")));
      return SetState{};
    }
    return SetState{.state = *found, .message = text_at(path, value, "message")};
  }

  Action read_artifact(const std::string& path, const Json& value) {
    Artifact out;
    if (!check_mapping(path, value, {"name", "id", "description", "parts", "append", "last_chunk"})) return out;
    out.name = text_at(path, value, "name", true);
    out.id = text_at(path, value, "id");
    out.description = text_at(path, value, "description");
    out.parts = parts_of(path, value);
    out.append = flag_at(path, value, "append");
    out.last_chunk = flag_at(path, value, "last_chunk");
    return out;
  }

  Action read_chunks(const std::string& path, const Json& value) {
    Chunks out;
    if (!check_mapping(path, value, {"artifact", "text", "size", "delay"})) return out;
    out.artifact = text_at(path, value, "artifact", true);
    out.text = text_at(path, value, "text", true);
    out.size = count_at(path, value, "size").value_or(out.size);
    out.delay_ms = duration_at(path, value, "delay");
    return out;
  }

  Action read_message(const std::string& path, const Json& value) {
    if (!check_mapping(path, value, {"parts"})) return DirectMessage{};
    return DirectMessage{parts_of(path, value)};
  }

  Action read_workflow(const std::string& path, const Json& value) {
    RunWorkflow out;
    if (!check_mapping(path, value, {"name", "inputs"})) return out;
    out.name = text_at(path, value, "name", true);
    if (const auto inputs = value.find("inputs"); inputs != value.end()) {
      if (!inputs->is_object()) fault(member_path(path, "inputs"), "must be a mapping");
      out.inputs = *inputs;
    }
    return out;
  }

  Action read_tool(const std::string& path, const Json& value) {
    if (!check_mapping(path, value, {"name", "delay"})) return UseTool{};
    return UseTool{.name = text_at(path, value, "name", true), .delay_ms = duration_at(path, value, "delay")};
  }

  Json parts_of(const std::string& path, const Json& object) {
    const auto parts = object.find("parts");
    const std::string at = member_path(path, "parts");
    if (parts == object.end() || !parts->is_array() || parts->empty()) {
      fault(parts == object.end() ? path : at, "parts must be a list of at least one part", "parts: [{text: Hello!}]");
      return Json::array();
    }
    for (std::size_t i = 0; i < parts->size(); ++i) check_part(item_path(at, i), (*parts)[i]);
    return *parts;
  }

  void check_part(const std::string& path, const Json& part) {
    std::vector<std::string> keys = kContents;
    keys.insert(keys.end(), {"mediaType", "filename", "metadata"});
    if (!check_mapping(path, part, keys)) return;
    const auto contents = std::ranges::count_if(kContents, [&](const std::string& key) { return part.contains(key); });
    if (contents != 1) fault(path, "a part has exactly one of text, raw, url and data");
    for (const char* key : {"text", "raw", "url", "mediaType", "filename"}) text_at(path, part, key);
    if (const auto raw = part.find("raw"); raw != part.end() && raw->is_string() && !is_base64(*raw)) {
      fault(member_path(path, "raw"), "is not base64");
    }
    if (part.contains("metadata") && !part["metadata"].is_object())
      fault(member_path(path, "metadata"), "must be a mapping");
  }

  // Nothing follows what ends the turn, and a direct message leaves no task for other actions to work on.
  void check_sequence(const std::string& path, Script& reply) {
    std::size_t messages = 0;
    std::size_t delays = 0;
    for (std::size_t i = 0; i < reply.actions.size(); ++i) {
      const Action& action = reply.actions[i];
      messages += std::holds_alternative<DirectMessage>(action);
      delays += std::holds_alternative<Delay>(action);
      if (!ends_turn(action) || i + 1 == reply.actions.size()) continue;
      return fault(item_path(path, i + 1), "comes after the action that ends the turn");
    }
    reply.direct_message = messages > 0;
    if (messages > 1 || (messages == 1 && messages + delays != reply.actions.size())) {
      fault(path, "beside a message, which is an answer without a task, there can only be delays");
    }
  }

  static bool ends_turn(const Action& action) {
    return std::holds_alternative<RunWorkflow>(action) || std::holds_alternative<DirectMessage>(action) ||
           std::holds_alternative<SetState>(action);
  }

  const Document& document_;
  Faults faults_;
};

}  // namespace

std::expected<std::vector<Rule>, std::vector<Fault>> read_rules(const Document& document) {
  return Reader(document).read();
}

}  // namespace agentd::llm
