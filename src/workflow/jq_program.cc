#include "workflow/jq_program.h"

#include <cmath>
#include <limits>
#include <utility>

extern "C" {
#include <jq.h>
}

#include <fmt/format.h>

namespace agentd::workflow {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

jv to_jv(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean: return value.get<bool>() ? jv_true() : jv_false();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float: return jv_number(value.get<double>());
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return jv_string_sized(text.data(), static_cast<int>(text.size()));
    }
    case Json::value_t::array: {
      jv out = jv_array();
      for (const Json& item : value) out = jv_array_append(out, to_jv(item));
      return out;
    }
    case Json::value_t::object: {
      jv out = jv_object();
      for (const auto& [key, member] : value.items()) {
        out = jv_object_set(out, jv_string_sized(key.data(), static_cast<int>(key.size())), to_jv(member));
      }
      return out;
    }
    default: return jv_null();
  }
}

// Copies a result out of jq under the limits that hold for JSON from outside.
class Reader final {
 public:
  // Consumes `value`.
  Json read(jv value, std::size_t depth = 0) {
    Json out;
    switch (jv_get_kind(value)) {
      case JV_KIND_TRUE: out = true; break;
      case JV_KIND_FALSE: out = false; break;
      case JV_KIND_NUMBER: out = number(jv_number_value(value)); break;
      case JV_KIND_STRING: out = text(value); break;
      case JV_KIND_ARRAY: out = array(value, depth + 1); break;
      case JV_KIND_OBJECT: out = object(value, depth + 1); break;
      default: break;
    }
    jv_free(value);
    return out;
  }

  std::string refused;  // why the result is too much; empty when it is not

 private:
  static Json number(double value) {
    if (std::isnan(value)) return nullptr;
    if (std::isinf(value)) return std::copysign(std::numeric_limits<double>::max(), value);
    if (std::trunc(value) == value && std::abs(value) <= kExactIntegers) return static_cast<std::int64_t>(value);
    return value;
  }

  // Each value counts as a few bytes of its own, so that a long array of nothing is bounded too.
  bool spend(std::size_t bytes) {
    spent_ += bytes + 2;
    if (spent_ > limits_.bytes) refused = fmt::format("the result is longer than {} bytes", limits_.bytes);
    return refused.empty();
  }

  std::string text(jv borrowed) {
    const auto size = static_cast<std::size_t>(jv_string_length_bytes(jv_copy(borrowed)));
    return spend(size) ? std::string(jv_string_value(borrowed), size) : std::string();
  }

  bool enter(std::size_t depth) {
    if (depth > limits_.depth) refused = fmt::format("the result is deeper than {} levels", limits_.depth);
    return refused.empty();
  }

  Json array(jv borrowed, std::size_t depth) {
    Json out = Json::array();
    if (!enter(depth)) return out;
    const int length = jv_array_length(jv_copy(borrowed));
    for (int i = 0; i < length && spend(0); ++i) out.push_back(read(jv_array_get(jv_copy(borrowed), i), depth));
    return out;
  }

  Json object(jv borrowed, std::size_t depth) {
    Json out = Json::object();
    if (!enter(depth)) return out;
    if (static_cast<std::size_t>(jv_object_length(jv_copy(borrowed))) > limits_.members) {
      refused = fmt::format("an object of the result has more than {} members", limits_.members);
      return out;
    }
    for (int i = jv_object_iter(borrowed); jv_object_iter_valid(borrowed, i) && refused.empty();
         i = jv_object_iter_next(borrowed, i)) {
      jv key = jv_object_iter_key(borrowed, i);
      const std::string name = text(key);
      jv_free(key);
      out[name] = read(jv_object_iter_value(borrowed, i), depth);
    }
    return out;
  }

  JsonLimits limits_;
  std::size_t spent_ = 0;
};

void keep_first_message(void* data, jv message) {
  auto& first = *static_cast<std::string*>(data);
  jv text = jq_format_error(message);
  if (first.empty() && jv_get_kind(text) == JV_KIND_STRING) first = jv_string_value(text);
  jv_free(text);
}

void drop_message(void*, jv message) { jv_free(message); }

// "jq: error: syntax error, unexpected $end (Unix shell quoting issues?) at <top-level>, line 3:\n…"
std::string reason_of(std::string message) {
  constexpr std::string_view kPreamble = "jq: error: ";
  constexpr std::string_view kShell = " (Unix shell quoting issues?)";
  constexpr std::string_view kEnd = "$end";
  if (message.starts_with(kPreamble)) message.erase(0, kPreamble.size());
  if (const auto at = message.find(" at <"); at != std::string::npos) message.erase(at);
  if (const auto at = message.find(kShell); at != std::string::npos) message.erase(at, kShell.size());
  if (const auto at = message.find(kEnd); at != std::string::npos) message.replace(at, kEnd.size(), "end");
  return message.empty() ? "jq does not compile it and gives no reason" : message;
}

}  // namespace

struct JqValue::Held {
  jv value;
};

JqValue::JqValue(const Json& value) : held_(new Held{to_jv(value)}) {}
JqValue::~JqValue() {
  if (held_) jv_free(held_->value);
}
JqValue::JqValue(JqValue&&) noexcept = default;
JqValue& JqValue::operator=(JqValue&& other) noexcept {
  std::swap(held_, other.held_);
  return *this;
}

struct JqProgram::State {
  jq_state* jq = jq_init();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { jq_teardown(&jq); }
};

JqProgram::JqProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
JqProgram::~JqProgram() = default;
JqProgram::JqProgram(JqProgram&&) noexcept = default;
JqProgram& JqProgram::operator=(JqProgram&&) noexcept = default;

std::expected<JqProgram, std::string> JqProgram::compile(const std::string& program) {
  auto state = std::make_unique<State>();
  std::string message;
  // Without a callback jq writes to stderr.
  jq_set_error_cb(state->jq, keep_first_message, &message);
  const bool compiled = jq_compile(state->jq, program.c_str()) != 0;
  jq_set_error_cb(state->jq, drop_message, nullptr);
  if (!compiled) return std::unexpected(reason_of(std::move(message)));
  return JqProgram(std::move(state));
}

std::expected<Json, std::string> JqProgram::run(std::size_t number, const JqValue& value) const {
  jv input = jv_array_append(jv_array(), jv_number(static_cast<double>(number)));
  jq_start(state_->jq, jv_array_append(input, jv_copy(value.held_->value)), 0);
  jv result = jq_next(state_->jq);
  if (jv_is_valid(result)) {
    Reader reader;
    Json out = reader.read(result);
    if (!reader.refused.empty()) return std::unexpected(std::move(reader.refused));
    return out;
  }
  if (!jv_invalid_has_msg(jv_copy(result))) {
    jv_free(result);
    return std::unexpected("it has no result; `… // null` gives it one");
  }
  Reader reader;
  const Json raised = reader.read(jv_invalid_get_msg(result));
  return std::unexpected(raised.is_string() ? raised.get<std::string>() : dump_json(raised));
}

}  // namespace agentd::workflow
