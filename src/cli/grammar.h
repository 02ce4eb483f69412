// Grammar: the options of one command, to be parsed or, while they are still being typed, completed.
//
// What the files options*.cc are made of; nothing but they sees CLI11. A parser declares its options once, and both
// come of it. Made, used and thrown away in one call; on one thread; never throws past parse().
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help.h"
#include "cli/options.h"

namespace agentd::cli {

using Words = std::vector<std::string>;

// The words behind a command. When they are completed, the last of them is the one that is being typed, perhaps "".
struct CommandLine {
  Words words;
  bool completing = false;
};

// What may stand somewhere: ids that the daemon knows, or these words.
struct Candidates {
  Ids ids = Ids::kNone;
  Words words = {};
};

class Grammar final {
 public:
  Grammar(std::string_view command, const Help& help);

  CLI::App& app() { return app_; }

  void add_url(client::Endpoint& daemon);     // --url and --ca
  void add_daemon(client::Endpoint& daemon);  // and who one is there: --token. It is asked for ids

  // What completes the value of the option `name` ("--run"), which has been added, or the next of the words that are no
  // options. Where nothing is said, the shell completes names of files.
  void offer(const std::string& name, Candidates candidates);
  void offer_word(Candidates candidates) { word_candidates_.push_back(std::move(candidates)); }

  // The words that are no options, `least` to `most` of them; or what comes of the line instead.
  [[nodiscard]] std::expected<Words, Parsed> parse(CommandLine line, std::size_t least, std::size_t most);

 private:
  std::expected<Words, Parsed> leftovers(std::size_t least, std::size_t most) const;
  CompleteOptions complete(Words words, std::size_t most);
  const CLI::Option* option_with_value(const std::string& word) const;
  Candidates open_place(const CLI::Option* option, const std::string& prefix, std::size_t most) const;
  Words option_names() const;
  Said unknown_option(const std::string& word) const;

  std::string command_;
  CLI::App app_;
  const client::Endpoint* daemon_ = nullptr;
  std::map<const CLI::Option*, Candidates> value_candidates_;
  std::vector<Candidates> word_candidates_;
};

struct CommandRow {
  const char* name;
  Parsed (*parse)(CommandLine line);
  std::string_view about = {};  // the line of --help; a verb needs none
};

// As the row says that the first word names. `command` is what it stands behind.
[[nodiscard]] Parsed parse_by(std::span<const CommandRow> rows, std::string_view command, CommandLine line);
// Whether a verb is meant, and not the command's own options.
[[nodiscard]] bool has_verb(const CommandLine& line);

// The line that says what is wrong with a command line.
[[nodiscard]] Said fault(std::string_view command, const std::string& what);
// "; did you mean 'x'?", or nothing.
[[nodiscard]] std::string suggestion(std::string_view word, const Words& candidates);

}  // namespace agentd::cli
