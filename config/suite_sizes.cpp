#include "config/suite_sizes.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "config/refusal.hpp"
#include "config/table_reader.hpp"
#include "config/text.hpp"

namespace kernsmith {
namespace {

constexpr std::size_t max_sizes_file_bytes = std::size_t{1} << 20;

suite_axes read_axes_of(const toml_value& table, const std::string& what) {
  require_table(table, what);
  suite_axes axes;
  for (std::size_t i = 0; i < table.items.size(); ++i) {
    const std::string& name = table.keys[i];
    const std::int64_t extent = as_integer(table.items[i], fmt::format("{} of {}", name, what));
    if (extent < 1) refuse(table.items[i].place, fmt::format("{} of {} is {}; sizes are at least 1", name, what, extent));
    axes.emplace_back(name, extent);
  }
  return axes;
}

std::map<std::string, suite_axes> read_sizes(const std::string& text, const std::string& which) {
  const toml_value document = parse_toml(text);
  std::map<std::string, suite_axes> found;
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < document.items.size(); ++i) {
    const std::string& problem = document.keys[i];
    require_table(document.items[i], fmt::format("[{}]", problem));
    for (std::size_t k = 0; k < document.items[i].items.size(); ++k) {
      const std::string& kind = document.items[i].keys[k];
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
      suite_axes axes = read_axes_of(document.items[i].items[k], fmt::format("[{}.{}]", problem, kind));
      if (kind == which) found[problem] = std::move(axes);
    }
  }
  if (found.empty())
    refuse({}, fmt::format("there are no sizes called '{}'{}; there are: {}", which, did_you_mean(which, kinds), fmt::join(kinds, ", ")));
  return found;
}

}  // namespace

result<std::map<std::string, suite_axes>> load_suite_sizes(const std::filesystem::path& file, const std::string& which) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return fail(fault::bad_request,
                fmt::format("{}: can't be read; sizes stand in a file of that name beside the problems", file.string()));
  std::string text(max_sizes_file_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > max_sizes_file_bytes)
    return fail(fault::bad_request, fmt::format("{}: larger than {} bytes", file.string(), max_sizes_file_bytes));
  try {
    return read_sizes(text, which);
  } catch (const refusal& why) {
    return fail(fault::bad_request, place_message(file.string(), why.place, why.message));
  }
}

}  // namespace kernsmith
