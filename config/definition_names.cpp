#include "config/definition_names.hpp"

#include <algorithm>
#include <array>

namespace kernsmith {

namespace {

constexpr std::array functions = {
    function_entry{"select", operation::select, 3}, function_entry{"min", operation::minimum, 2},
    function_entry{"max", operation::maximum, 2},   function_entry{"abs", operation::absolute, 1},
    function_entry{"exp", operation::exp, 1},       function_entry{"log", operation::log, 1},
    function_entry{"log1p", operation::log1p, 1},   function_entry{"expm1", operation::expm1, 1},
    function_entry{"sqrt", operation::sqrt, 1},     function_entry{"rsqrt", operation::rsqrt, 1},
    function_entry{"pow", operation::pow, 2},       function_entry{"tanh", operation::tanh, 1},
    function_entry{"erf", operation::erf, 1},       function_entry{"sigmoid", operation::sigmoid, 1},
    function_entry{"sin", operation::sin, 1},       function_entry{"cos", operation::cos, 1},
    function_entry{"floor", operation::floor, 1},   function_entry{"ceil", operation::ceil, 1},
    function_entry{"round", operation::round, 1},   function_entry{"fma", operation::fma, 3},
};

struct reduction_entry {
  std::string_view name;
  reduction reducer;
};

constexpr std::array reductions = {
    reduction_entry{"sum", reduction::sum},       reduction_entry{"max", reduction::max},       reduction_entry{"min", reduction::min},
    reduction_entry{"prod", reduction::prod},     reduction_entry{"any", reduction::any},       reduction_entry{"all", reduction::all},
    reduction_entry{"argmax", reduction::argmax}, reduction_entry{"argmin", reduction::argmin},
};

constexpr std::array scans = {
    reduction_entry{"cumsum", reduction::sum},
    reduction_entry{"cumprod", reduction::prod},
    reduction_entry{"cummax", reduction::max},
    reduction_entry{"cummin", reduction::min},
};

template <class Table>
std::optional<reduction> look_up(const Table& table, std::string_view name) {
  for (const reduction_entry& entry : table)
    if (entry.name == name) return entry.reducer;
  return std::nullopt;
}

}  // namespace

const function_entry* find_function(std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const function_entry& f) { return f.name == name; });
  return found == functions.end() ? nullptr : &*found;
}

std::optional<reduction> find_reduction(std::string_view name) {
  return look_up(reductions, name);
}

std::optional<reduction> find_scan(std::string_view name) {
  return look_up(scans, name);
}

bool is_reserved_word(std::string_view name) {
  if (name == "and" || name == "or" || name == "not") return true;
  return find_function(name) != nullptr || dtype_from_name(name);
}

const std::vector<std::string>& reduction_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& r : reductions) all.emplace_back(r.name);
    for (const auto& s : scans) all.emplace_back(s.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& callable_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& f : functions) all.emplace_back(f.name);
    all.insert(all.end(), reduction_names().begin(), reduction_names().end());
    for (const std::string_view type : dtype_names()) all.emplace_back(type);
    return all;
  }();
  return names;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > max_identifier_length || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace kernsmith
