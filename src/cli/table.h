// Table: rows in columns, each as wide as its widest cell, of at most 64 characters. A cell passes printable.h. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/paint.h"
#include "cli/render.h"

namespace agentd::cli {

struct Cell {
  Cell(std::string content) : text(std::move(content)) {}  // NOLINT(google-explicit-constructor): most have no colour
  Cell(const char* content) : text(content) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string content, Ink colour) : text(std::move(content)), ink(colour) {}
  std::string text;
  Ink ink = Ink::kPlain;
};

class Table final {
 public:
  explicit Table(std::vector<Cell> head) { add(std::move(head)); }
  void add(std::vector<Cell> row);  // with the cells of the head
  // Each line ends in a line feed.
  [[nodiscard]] std::string text(const Style& style) const;

 private:
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace agentd::cli
