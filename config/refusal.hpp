// How the loader of problem files gives up: internal to config/, never crosses its border (parse_problem catches it).
#pragma once

#include <string>
#include <utility>

#include "config/definition.hpp"

namespace kernsmith {

/// Thrown at the first thing that is wrong with a problem file; becomes "file:line:column: message".
struct refusal {
  source_place place;
  std::string message;
};

[[noreturn]] inline void refuse(source_place place, std::string message) {
  throw refusal{place, std::move(message)};
}

/// "file:line:column: message", leaving out what is unknown.
[[nodiscard]] std::string place_message(const std::string& file, source_place place, const std::string& message);

}  // namespace kernsmith
