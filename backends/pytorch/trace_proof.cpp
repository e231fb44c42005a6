#include "backends/pytorch/trace_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "backends/pytorch/problem_text.hpp"
#include "config/interpreter.hpp"

namespace kernsmith::pytorch {

namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t element_bytes = 8;
/// Outputs that cancel to nothing leave rounding alone.
constexpr double smallest_scale = 1e-6;

/// Base64 to bytes; nothing for what isn't base64.
std::optional<std::string> decoded(const std::string& text) {
  static const std::array<int, 256> values = [] {
    std::array<int, 256> table{};
    table.fill(-1);
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < letters.size(); ++i) table[static_cast<unsigned char>(letters[i])] = static_cast<int>(i);
    return table;
  }();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (++count < 4) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 0xff);
    group = 0, count = 0;
  }
  if (count == 2) bytes += static_cast<char>(group >> 4 & 0xff);
  if (count == 3) bytes += static_cast<char>(group >> 10 & 0xff), bytes += static_cast<char>(group >> 2 & 0xff);
  return bytes;
}

template <class T>
std::vector<T> elements_of(const std::string& bytes) {
  std::vector<T> elements(bytes.size() / element_bytes);
  std::memcpy(elements.data(), bytes.data(), elements.size() * element_bytes);
  return elements;
}

result<tensor_values> values_of(const json& text, const tensor_declaration& tensor, std::int64_t count) {
  const auto bytes = decoded(text.get<std::string>());
  if (!bytes || bytes->size() != static_cast<std::size_t>(count) * element_bytes)
    return fail(fault::bad_request, fmt::format("a sample of '{}' has another size than its shape", tensor.name));
  tensor_values values;
  if (is_float(tensor.type))
    values.real = elements_of<double>(*bytes);
  else
    values.integer = elements_of<std::int64_t>(*bytes);
  return values;
}

struct difference {
  double largest = 0;    ///< relative
  std::int64_t at = -1;  ///< the first element that disagrees
  double ours = 0, theirs = 0;
};

difference compare(const std::vector<double>& ours, const std::vector<double>& theirs) {
  double scale = 0;
  for (const double r : theirs)
    if (std::isfinite(r)) scale = std::max(scale, std::abs(r));
  difference found;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double y = ours[i], r = theirs[i];
    if ((std::isnan(y) && std::isnan(r)) || y == r) continue;
    const double relative = std::abs(y - r) / std::max({scale, std::abs(r), smallest_scale});
    if (std::isfinite(relative)) found.largest = std::max(found.largest, relative);
    if (!(relative <= proof_tolerance) && found.at < 0) found.at = static_cast<std::int64_t>(i), found.ours = y, found.theirs = r;
  }
  return found;
}

difference compare(const std::vector<std::int64_t>& ours, const std::vector<std::int64_t>& theirs) {
  difference found;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    found.largest = 1;
    if (found.at < 0)
      found.at = static_cast<std::int64_t>(i), found.ours = static_cast<double>(ours[i]), found.theirs = static_cast<double>(theirs[i]);
  }
  return found;
}

}  // namespace

result<trace_proof> prove_trace(const problem& task, const std::filesystem::path& file, const json& proof) {
  std::optional<problem> sibling;
  std::vector<std::int64_t> axes;
  if (proof.at("axes").is_null()) {
    problem_heading heading;
    heading.name = task.name;
    auto text = problem_text(proof.at("problem"), heading);
    if (!text) return fail(text.error().kind, fmt::format("{}: {}", file.string(), text.error().message));
    auto parsed = parse_problem(*text, file);
    if (!parsed)
      return fail(parsed.error().kind, fmt::format("the problem made from it at small sizes is refused: {}", parsed.error().message));
    sibling = std::move(*parsed);
  } else {
    for (const axis& a : task.axes) axes.push_back(proof.at("axes").at(a.name).get<std::int64_t>());
  }
  const problem& p = sibling ? *sibling : task;
  if (auto legal = check_axes(p, axes); !legal)
    return fail(fault::bad_request, fmt::format("{}: at the sizes of its check: {}", file.string(), legal.error().message));
  trace_proof found;
  const std::vector<int> inputs = p.inputs(), outputs = p.outputs();
  for (const json& sample : proof.at("samples")) {
    std::vector<tensor_values> values(p.tensors.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const tensor_declaration& t = p.tensors[static_cast<std::size_t>(inputs[i])];
      auto given = values_of(sample.at("inputs").at(i), t, element_count(shape_of(t, axes)));
      if (!given) return fail(given.error().kind, fmt::format("{}: {}", file.string(), given.error().message));
      values[static_cast<std::size_t>(inputs[i])] = std::move(*given);
    }
    if (auto done = interpret(p, axes, values); !done)
      return fail(done.error().kind, fmt::format("{}: evaluating its trace: {}", file.string(), done.error().message));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const tensor_declaration& t = p.tensors[static_cast<std::size_t>(outputs[i])];
      const auto theirs = values_of(sample.at("outputs").at(i), t, element_count(shape_of(t, axes)));
      if (!theirs) return fail(theirs.error().kind, fmt::format("{}: {}", file.string(), theirs.error().message));
      const tensor_values& ours = values[static_cast<std::size_t>(outputs[i])];
      const difference d = is_float(t.type) ? compare(ours.real, theirs->real) : compare(ours.integer, theirs->integer);
      found.largest_difference = std::max(found.largest_difference, d.largest);
      if (d.at >= 0)
        return fail(
            fault::bad_request,
            fmt::format(
                "{}: the trace does not reproduce the module: on {} contents element {} of '{}' is {:.17g}, and the module gives {:.17g}; "
                "does forward depend on the elements of its inputs, or on what earlier calls left?",
                file.string(), sample.value("kind", ""), d.at, t.name, d.ours, d.theirs));
    }
    ++found.samples;
  }
  if (found.samples == 0) return fail(fault::bad_request, fmt::format("{}: no sample of the module could be made", file.string()));
  return found;
}

}  // namespace kernsmith::pytorch
