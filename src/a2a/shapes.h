// Shapes: the proto messages of A2A that come in as JSON, as tables, and the one function that reads them by the rules of
// ProtoJSON (a2a.md section 11): both spellings of a name, enums by name or number, null as absent, numbers as strings,
// either base64; unknown fields are ignored, required ones are demanded.
//
// Pure. What comes out is in wire form: camelCase, in the table's order, only known fields. Cost: linear in the input.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentd::a2a {

struct Shape;

enum class FieldType : std::uint8_t {
  kString,
  kBytes,
  kInt32,
  kBool,
  kState,
  kRole,
  kTimestamp,
  kStruct,
  kValue,
  kMessage
};

struct Field {
  std::string_view name;  // camelCase
  FieldType type = FieldType::kString;
  bool required = false;
  bool repeated = false;
  const Shape* shape = nullptr;  // of kMessage
};

struct Shape {
  std::span<const Field> fields;
  std::span<const std::string_view> one_of = {};  // exactly one of these must be present
};

extern const Shape kSendMessageRequest;
extern const Shape kGetTaskRequest;
extern const Shape kListTasksRequest;
extern const Shape kTaskIdRequest;  // CancelTask, SubscribeToTask
extern const Shape kMessage;

// Errors: kInvalidParams with every violation, each with its path below `path` ("params.message.parts[0]").
[[nodiscard]] Result<Json> read_shape(const Shape& shape, const Json& value, std::string_view path);

}  // namespace agentd::a2a
