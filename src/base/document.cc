#include "base/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "base/plain_scalar.h"

namespace agentd {
namespace {

constexpr std::size_t kTextBytes = 2U << 20U;
constexpr std::size_t kDepth = 64;
constexpr std::size_t kNodes = 100'000;
constexpr std::size_t kExpandedBytes = 4U << 20U;  // of keys and scalars, once aliases are copies
constexpr std::size_t kMembers = 4096;             // as JsonLimits: an ordered object is searched from its front
constexpr std::size_t kPathBytes = 512;            // a longer path gets no mark of its own
constexpr std::size_t kFaults = 100;
constexpr std::size_t kWordBytes = 64;  // nearest() is quadratic in it

// Ends the parse from within an event, when there is no going on: the fault is already recorded.
struct Stop {};

std::size_t height(const Json& value) {
  if (!value.is_structured()) return 0;
  std::size_t most = 0;
  for (const Json& child : value) most = std::max(most, height(child));
  return most + 1;
}

// Builds the document from the parser's events, so that a bound is met before the parser recurses past it.
//
// Invariant: path_ names the node that the next event begins, once place() has been called for that event; a
// container's frame remembers the length to cut path_ back to.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(std::string file) { document.file = std::move(file); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) {
      stop(mark, "the document ended before this, and a file holds one: check indentation and brackets");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) {
      blame(mark, "a key is missing, or is null: keys are strings, quote it");
      return set_key(mark, "null");
    }
    if (!frames_.empty()) place(mark);  // an empty text has no place
    charge(mark, 1, 0);
    finish(nullptr, anchor, 1, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool is_key = wants_key();
    if (!is_key) place(mark);
    Json value = scalar(mark, tag, text);
    if (is_key) {
      if (!value.is_string()) blame(mark, "keys are strings: quote this one");
      if (tag == "?" && text == "<<") blame(mark, "merge keys (<<) are not supported: write the members out");
      return set_key(mark, text);
    }
    charge(mark, 1, text.size());
    finish(std::move(value), anchor, 1, text.size());
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) stop(mark, "keys are strings: an alias cannot be one");
    place(mark);
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) stop(mark, "an alias stands inside the node that it names");
    const Anchored& target = found->second;
    if (frames_.size() + height(target.value) > kDepth) stop_deep(mark);
    charge(mark, target.nodes, target.bytes);
    finish(target.value, YAML::NullAnchor, target.nodes, target.bytes);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Json::array());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Json::object());
  }
  void OnMapEnd() override { close(); }

  void blame(const YAML::Mark& mark, std::string message) {
    faults.push_back({.file = document.file,
                      .line = mark.line + 1,
                      .column = mark.column + 1,
                      .path = cut_text(path_, kPathBytes),
                      .message = std::move(message)});
    if (faults.size() >= kFaults) throw Stop{};
  }

  Document document;
  std::vector<Fault> faults;

 private:
  struct Frame {
    Json value;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    std::size_t path_size;
    std::size_t nodes_before, bytes_before;
    bool has_key = false;  // of an object: the next node is the value of `key`
    bool repeated = false;
    std::string key;
    std::unordered_map<std::string, int> lines;  // of an object: where each key stands
  };
  struct Anchored {
    Json value;
    std::size_t nodes, bytes;
  };

  [[noreturn]] void stop(const YAML::Mark& mark, std::string message) {
    blame(mark, std::move(message));
    throw Stop{};
  }
  [[noreturn]] void stop_deep(const YAML::Mark& mark) { stop(mark, fmt::format("deeper than {} levels", kDepth)); }

  void charge(const YAML::Mark& mark, std::size_t nodes, std::size_t bytes) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > kNodes) stop(mark, fmt::format("more than {} nodes, aliases expanded", kNodes));
    if (bytes_ > kExpandedBytes) {
      stop(mark, fmt::format("more than {} bytes of text, aliases expanded", kExpandedBytes));
    }
  }

  Json scalar(const YAML::Mark& mark, const std::string& tag, const std::string& text) {
    if (tag == "?") {
      auto value = plain_scalar(text);
      if (value) return *std::move(value);
      blame(mark, std::move(value.error().message));
    } else if (tag != "!" && tag != "tag:yaml.org,2002:str") {
      blame_tag(mark);
    }
    return text;
  }
  void blame_tag(const YAML::Mark& mark) {
    blame(mark, "tags (!) are not supported: quote the text if it begins with !");
  }

  bool wants_key() const { return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().has_key; }

  void set_key(const YAML::Mark& mark, const std::string& key) {
    Frame& frame = frames_.back();
    frame.has_key = true;
    frame.key = key;
    charge(mark, 0, key.size());
    if (!path_.empty()) path_ += '.';
    path_ += key;
    set_mark(mark);
    const auto [first, is_new] = frame.lines.emplace(key, mark.line + 1);
    frame.repeated = !is_new;
    if (!is_new) {
      blame(mark, fmt::format("is given twice: on line {} and on line {}", first->second, mark.line + 1));
    }
    if (frame.lines.size() > kMembers) stop(mark, fmt::format("a mapping has more than {} members", kMembers));
  }

  void set_mark(const YAML::Mark& mark) {
    if (path_.size() > kPathBytes) return;
    document.marks.emplace(path_, Mark{document.file, mark.line + 1, mark.column + 1});
  }

  // Names the node that begins: a member has its name and mark from its key already.
  void place(const YAML::Mark& mark) {
    if (!frames_.empty() && frames_.back().value.is_object()) return;
    if (!frames_.empty()) path_ += fmt::format("[{}]", frames_.back().value.size());
    set_mark(mark);
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Json empty) {
    if (wants_key()) stop(mark, "keys are strings: a list or a mapping cannot be one (or its bracket does not end)");
    place(mark);
    if (frames_.size() == kDepth) stop_deep(mark);
    if (tag != "?" && tag != "!" && !tag.empty()) blame_tag(mark);
    frames_.push_back({.value = std::move(empty),
                       .anchor = anchor,
                       .mark = mark,
                       .path_size = path_.size(),
                       .nodes_before = nodes_,
                       .bytes_before = bytes_,
                       .key = {},
                       .lines = {}});
    charge(mark, 1, 0);
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    finish(std::move(frame.value), frame.anchor, nodes_ - frame.nodes_before, bytes_ - frame.bytes_before);
  }

  // Hands a whole node to its parent, and keeps a copy under its anchor, which counts like any other.
  void finish(Json value, YAML::anchor_t anchor, std::size_t nodes, std::size_t bytes) {
    if (anchor != YAML::NullAnchor) {
      charge(frames_.empty() ? YAML::Mark() : frames_.back().mark, nodes, bytes);
      anchored_.insert_or_assign(anchor, Anchored{value, nodes, bytes});
    }
    if (frames_.empty()) {
      document.value = std::move(value);
      return;
    }
    Frame& parent = frames_.back();
    if (parent.value.is_array()) {
      parent.value.push_back(std::move(value));
    } else {
      if (!parent.repeated) parent.value[parent.key] = std::move(value);
      parent.has_key = false;
    }
    path_.resize(parent.path_size);
  }

  bool started_ = false;
  std::size_t nodes_ = 0, bytes_ = 0;
  std::string path_;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, Anchored> anchored_;
};

// What the library says, in the words of who has to repair it. The rest of its texts will do as they are.
std::string explain(std::string_view said) {
  struct Row {
    std::string_view begins, ours;
  };
  using namespace YAML::ErrorMsg;
  static const std::array kRows = {
      Row{UNKNOWN_ANCHOR, "an alias (*) names no anchor (&) before it: quote the text if it begins with *"},
      Row{INVALID_UNICODE, "a \\u escape is no character: write one above U+FFFF as itself or as \\UXXXXXXXX"},
      Row{TAB_IN_INDENTATION, "a tab cannot indent: use spaces"},
      Row{INVALID_ESCAPE, "an escape in a quoted text is not known: write \\\\ for a backslash"},
      Row{END_OF_MAP_FLOW, "a mapping in { } does not end, or misses a comma"},
      Row{END_OF_SEQ_FLOW, "a list in [ ] does not end, or misses a comma"},
      Row{END_OF_MAP, "the mapping is broken here: check indentation, and the space after each colon"},
      Row{END_OF_SEQ, "the list is broken here: check indentation, and the space after each dash"},
      Row{DOC_IN_SCALAR, "a quoted text does not end before the document does"},
      Row{MAP_VALUE, "a colon is out of place: check indentation, tabs, and quote a text that holds \": \""},
      Row{UNKNOWN_TOKEN, "a text cannot begin with this character: quote it"},
      Row{BAD_FILE, "nested too deeply"},
  };
  for (const Row& row : kRows) {
    if (said.starts_with(row.begins)) return std::string(row.ours);
  }
  return "not YAML: " + to_utf8(said);
}

YAML::Mark mark_at(std::string_view text, std::size_t at) {
  YAML::Mark mark;
  const std::string_view before = text.substr(0, at);
  mark.line = static_cast<int>(std::ranges::count(before, '\n'));
  mark.column = static_cast<int>(at - (before.rfind('\n') + 1));  // npos + 1 is 0
  return mark;
}

// What the YAML library would read past or cut short without a word.
void check_bytes(std::string_view text, Builder& builder) {
  if (text.size() > kTextBytes) builder.blame({}, fmt::format("not read: longer than {} bytes", kTextBytes));
  const std::string valid = to_utf8(text);
  const auto [bad, _] = std::ranges::mismatch(text, valid);
  if (bad != text.end()) {
    builder.blame(mark_at(text, static_cast<std::size_t>(bad - text.begin())), "not UTF-8");
  }
  const auto control =
      std::ranges::find_if(text, [](char c) { return (c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r'); });
  if (control != text.end()) {
    builder.blame(mark_at(text, static_cast<std::size_t>(control - text.begin())), "a control character");
  }
}

std::unexpected<std::vector<Fault>> unreadable(const std::string& file, const std::string& why) {
  return std::unexpected(std::vector{Fault{.file = file, .message = "cannot be read: " + why}});
}

}  // namespace

std::string to_string(const Fault& fault) {
  std::string out = fault.file;
  if (fault.line > 0) out += fmt::format(":{}", fault.line);
  if (fault.line > 0 && fault.column > 0) out += fmt::format(":{}", fault.column);
  for (const std::string& part : {fault.path, fault.message}) {
    if (part.empty()) continue;
    if (!out.empty()) out += ": ";
    out += part;
  }
  if (!fault.expected.empty()) out += "; expected " + fault.expected;
  return out;
}

Mark Document::locate(std::string_view path) const {
  for (;;) {
    if (const auto found = marks.find(path); found != marks.end()) return found->second;
    if (path.empty()) return {file, 0, 0};
    const std::size_t cut = path.find_last_of(".[");
    path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
}

std::expected<Document, std::vector<Fault>> parse_document(std::string_view text, std::string file) {
  Builder builder(std::move(file));
  check_bytes(text, builder);
  if (!builder.faults.empty()) return std::unexpected(std::move(builder.faults));
  try {
    // The library takes the end of the text for the end of an open quote or bracket, but not the end of a
    // document.
    std::istringstream stream(fmt::format("{}{}...\n", text, text.ends_with('\n') ? "" : "\n"));
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    try {
      builder.blame(error.mark, explain(error.msg));
    } catch (const Stop&) {
    }
  } catch (const Stop&) {
  }
  if (!builder.faults.empty()) return std::unexpected(std::move(builder.faults));
  return std::move(builder.document);
}

std::expected<Document, std::vector<Fault>> read_document(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return unreadable(file, "it is a folder");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return unreadable(file, std::strerror(errno));
  std::string text(kTextBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return unreadable(file, std::strerror(errno));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_document(text, file);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kWordBytes) return "";
  std::string best;
  std::size_t least = kWordBytes;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kWordBytes) continue;
    // One row of the edit-distance table at a time.
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t replaced = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
      }
    }
    if (row.back() >= least || row.back() > std::max(word.size(), candidate.size()) / 3) continue;
    least = row.back();
    best = candidate;
  }
  return best;
}

}  // namespace agentd
