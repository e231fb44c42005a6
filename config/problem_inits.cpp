// How inputs are filled: the [inputs.NAME] init table, its bounds, and the defaults.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/problem_tables.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

/// Default range of integer inputs that index nothing: small, so that sums and products of them stay exact.
constexpr double default_integer_lo = -128;
constexpr double default_integer_hi = 127;
constexpr std::int64_t largest_integer_bound = std::int64_t{1} << 53;

struct init_kind {
  std::string name;
  init_spec::kind kind;
  std::vector<std::string> keys;
};

const std::vector<init_kind>& kinds() {
  static const std::vector<init_kind> all = {
      {"normal", init_spec::kind::normal, {"kind", "mean", "std"}},  {"uniform", init_spec::kind::uniform, {"kind", "lo", "hi"}},
      {"integers", init_spec::kind::integers, {"kind", "lo", "hi"}}, {"zipf", init_spec::kind::zipf, {"kind", "alpha", "n"}},
      {"constant", init_spec::kind::constant, {"kind", "value"}},    {"arange", init_spec::kind::arange, {"kind", "start", "step"}},
      {"sorted", init_spec::kind::sorted, {"kind", "of"}},           {"file", init_spec::kind::file, {"kind", "path"}},
  };
  return all;
}

const init_kind& find_kind(const toml_value& value, const std::string& what) {
  const std::string& name = as_text(value, what);
  std::vector<std::string> names;
  for (const init_kind& k : kinds()) {
    if (k.name == name) return k;
    names.push_back(k.name);
  }
  const std::string hint = did_you_mean(name, names);
  refuse(value.place,
         fmt::format("unknown init kind '{}'{}", name, hint.empty() ? fmt::format("; known: {}", fmt::join(names, ", ")) : hint));
}

/// Bounds are kept as doubles: beyond 2^53 they would not be the ones written.
double integer_bound(const toml_value& value, const char* what) {
  const std::int64_t bound = as_integer(value, what);
  if (bound > largest_integer_bound || bound < -largest_integer_bound)
    refuse(value.place, fmt::format("{} {} is beyond 2^53", what, bound));
  return static_cast<double>(bound);
}

void check_fits(double value, const tensor_declaration& tensor, const char* what, source_place place) {
  if (is_float(tensor.type)) {
    if (std::fabs(value) > largest_finite(tensor.type))
      refuse(place, fmt::format("{} {} is too large for {}", what, value, name_of(tensor.type)));
    return;
  }
  if (value != std::floor(value))
    refuse(place, fmt::format("{} {} is no integer, but '{}' is {}", what, value, tensor.name, name_of(tensor.type)));
  if (value < lowest_value(tensor.type) || value > largest_finite(tensor.type))
    refuse(place, fmt::format("{} {} does not fit into {}", what, value, name_of(tensor.type)));
}

void require_float(const tensor_declaration& tensor, const char* kind, source_place place) {
  if (!is_float(tensor.type))
    refuse(place,
           fmt::format("init '{}' is for floats and '{}' is {}; use integers {{ lo, hi }}", kind, tensor.name, name_of(tensor.type)));
}

void read_file_init(init_spec& init, const table_reader& table, const tensor_declaration& tensor, const std::filesystem::path& folder) {
  const toml_value& path = table.need("path", "path = \"data.bin\"");
  init.file = std::filesystem::absolute(folder / as_text(path, "'path'")).lexically_normal();
  std::error_code code;
  const auto size = std::filesystem::file_size(init.file, code);
  if (code) refuse(path.place, fmt::format("the init file {} can't be read: {}", init.file.string(), code.message()));
  if (size == 0 || size % size_of(tensor.type) != 0)
    refuse(path.place, fmt::format("the init file {} has {} bytes, which is no positive number of {} elements", init.file.string(), size,
                                   name_of(tensor.type)));
}

double constant_value(const toml_value& value) {
  if (value.which == toml_value::kind::boolean) return value.boolean ? 1 : 0;
  return as_number(value, "'value'");
}

/// Smallest and largest value the init can give in a tensor of `count` elements; unknown for files and floats.
struct value_range {
  double low;
  double high;
};

std::optional<value_range> range_of(const init_spec& init, std::int64_t count) {
  switch (init.which) {
    case init_spec::kind::integers:
      return value_range{init.lo, init.hi};
    case init_spec::kind::zipf:
      if (init.n == 0) return std::nullopt;
      return value_range{0, static_cast<double>(init.n - 1)};
    case init_spec::kind::constant:
      return value_range{init.value, init.value};
    case init_spec::kind::arange: {
      const double last = init.start + init.step * static_cast<double>(count - 1);
      return value_range{std::min(init.start, last), std::max(init.start, last)};
    }
    case init_spec::kind::sorted:
      return range_of(init.of.front(), count);
    default:
      return std::nullopt;
  }
}

void check_index_range(const problem& p, const tensor_declaration& t) {
  if (t.init.is_default) return;
  for (const workload& w : p.workloads) {
    const auto range = range_of(t.init, element_count(shape_of(t, w.axes)));
    if (!range) return;
    for (const dim& limit : t.index_limits) {
      const std::int64_t extent = extent_of(limit, w.axes);
      if (range->low >= 0 && range->high < static_cast<double>(extent)) continue;
      refuse(t.place,
             fmt::format("'{}' is used as an index and its init gives {}..{}, but only 0..{} is valid ({} = {}); change lo, hi or n",
                         t.name, range->low, range->high, extent - 1,
                         limit.axis >= 0 ? p.axes[static_cast<std::size_t>(limit.axis)].name : "the extent", extent));
    }
  }
}

/// A tensor that is used as an index of a padded tensor: default values reach one beyond either end, so that the pad is met.
std::optional<dim> padded_index_limit(const problem& p, int tensor) {
  for (const statement& s : p.statements) {
    for (const expression& e : s.nodes) {
      for (std::size_t d = 0; d < e.indices.size(); ++d) {
        const index_expression& position = e.indices[d];
        if (position.is_affine) continue;
        const expression& source = s.nodes[static_cast<std::size_t>(position.gather)];
        if (source.kind == expression_kind::load && source.symbol == tensor) return p.tensors[static_cast<std::size_t>(e.symbol)].shape[d];
      }
    }
  }
  return std::nullopt;
}

void settle_default(problem& p, int id) {
  tensor_declaration& t = p.tensors[static_cast<std::size_t>(id)];
  if (is_float(t.type)) return;
  t.init.which = init_spec::kind::integers;
  t.init.lo = std::max(lowest_value(t.type), default_integer_lo);
  t.init.hi = std::min(largest_finite(t.type), is_integer(t.type) && size_of(t.type) == 1 ? largest_finite(t.type) : default_integer_hi);
  std::vector<dim> limits = t.index_limits;
  const bool exact = !limits.empty();
  if (!exact) {
    if (const auto limit = padded_index_limit(p, id)) limits.push_back(*limit);
  }
  if (limits.empty()) return;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const workload& w : p.workloads)
    for (const dim& limit : limits) smallest = std::min(smallest, extent_of(limit, w.axes));
  t.init.lo = std::max(lowest_value(t.type), exact ? 0.0 : -1.0);
  t.init.hi = std::min(largest_finite(t.type), static_cast<double>(exact ? smallest - 1 : smallest));
}

}  // namespace

init_spec read_init(const toml_value& value, const tensor_declaration& tensor, const std::filesystem::path& folder) {
  const std::string what = fmt::format("the init of '{}'", tensor.name);
  require_table(value, what);
  const toml_value* name = value.find("kind");
  if (name == nullptr) refuse(value.place, fmt::format("{} lacks 'kind'; add it, as in init = {{ kind = \"normal\" }}", what));
  const init_kind& kind = find_kind(*name, "'kind' in " + what);
  const table_reader table(value, fmt::format("{} ({})", what, kind.name), kind.keys);
  init_spec init;
  init.which = kind.kind;
  init.is_default = false;
  switch (kind.kind) {
    case init_spec::kind::normal:
      require_float(tensor, "normal", name->place);
      init.mean = table.number("mean", 0);
      init.std = table.number("std", 1);
      if (init.std < 0) refuse(table.place_of("std"), "'std' can't be negative");
      break;
    case init_spec::kind::uniform:
      require_float(tensor, "uniform", name->place);
      init.lo = table.number("lo", 0);
      init.hi = table.number("hi", 1);
      if (!(init.lo < init.hi)) refuse(value.place, fmt::format("{}: lo {} must be below hi {}", what, init.lo, init.hi));
      check_fits(init.lo, tensor, "lo", value.place);
      check_fits(init.hi, tensor, "hi", value.place);
      break;
    case init_spec::kind::integers:
      init.lo = integer_bound(table.need("lo", "lo = 0"), "'lo'");
      init.hi = integer_bound(table.need("hi", "hi = 9"), "'hi'");
      if (init.lo > init.hi) refuse(value.place, fmt::format("{}: lo {} is above hi {}; both ends are included", what, init.lo, init.hi));
      check_fits(init.lo, tensor, "lo", table.place_of("lo"));
      check_fits(init.hi, tensor, "hi", table.place_of("hi"));
      break;
    case init_spec::kind::zipf:
      init.alpha = table.number("alpha", 1);
      init.n = table.integer("n", 0);
      if (!(init.alpha > 0)) refuse(table.place_of("alpha"), "'alpha' must be above 0");
      if (table.find("n") != nullptr && init.n < 1) refuse(table.place_of("n"), "'n' must be at least 1");
      if (init.n > 0) check_fits(static_cast<double>(init.n - 1), tensor, "n - 1 =", table.place_of("n"));
      break;
    case init_spec::kind::constant:
      init.value = constant_value(table.need("value", "value = 1"));
      check_fits(init.value, tensor, "value", table.place_of("value"));
      break;
    case init_spec::kind::arange:
      init.start = table.number("start", 0);
      init.step = table.number("step", 1);
      check_fits(init.start, tensor, "start", table.place_of("start"));
      check_fits(init.step, tensor, "step", table.place_of("step"));
      break;
    case init_spec::kind::sorted:
      init.of.push_back(read_init(table.need("of", "of = { kind = \"normal\" }"), tensor, folder));
      if (init.of.front().which == init_spec::kind::sorted) refuse(table.place_of("of"), "'of' is sorted already");
      break;
    case init_spec::kind::file:
      read_file_init(init, table, tensor, folder);
      break;
  }
  return init;
}

void settle_inits(problem& p) {
  for (std::size_t i = 0; i < p.tensors.size(); ++i) {
    if (p.tensors[i].role != tensor_role::input) continue;
    if (p.tensors[i].init.is_default) settle_default(p, static_cast<int>(i));
    tensor_declaration& t = p.tensors[i];
    init_spec& inner = t.init.which == init_spec::kind::sorted ? t.init.of.front() : t.init;
    if (inner.which == init_spec::kind::zipf && inner.n == 0 && t.index_limits.empty())
      refuse(t.place, fmt::format("the init of '{}' (zipf) lacks 'n', the number of values; it may be left out only for indices", t.name));
    check_index_range(p, t);
  }
}

}  // namespace kernsmith
