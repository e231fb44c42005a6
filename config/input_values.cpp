#include "config/input_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>

#include "config/compare_defaults.hpp"
#include "config/hash.hpp"
#include "config/input_writer.hpp"
#include "config/random.hpp"

namespace kernsmith {

namespace {

constexpr std::array<std::string_view, content_count> content_names = {"as declared", "large magnitude", "cancellation",
                                                                       "denormal",    "equal rows",      "zeros"};

bool is_hurtable(const tensor_declaration& t) {
  return is_float(t.type) && (t.init.which == init_spec::kind::normal || t.init.which == init_spec::kind::uniform);
}

double growth(dtype type) {
  if (type == dtype::f16) return 16;
  return size_of(type) == 1 ? 8 : 1000;
}

/// A neighbour of `value` a few units in the last place away, chosen by two bits.
double nudged(double value, dtype type, std::uint64_t bits) {
  return value * (1 + 2 * unit_roundoff(type) * static_cast<double>(bits & 3));
}

/// Pairs v, -v' with v' a neighbour of v: what is left of their sum is rounding.
template <class Draw>
void write_cancelling_pairs(const fill_job& job, Draw draw) {
  constexpr std::size_t pairs = block_elements / 2;
  std::array<double, pairs> base;
  std::array<double, block_elements> block;
  std::array<std::uint64_t, pairs> rounded;  // room for any dtype
  for (std::uint64_t first = 0; first < job.count; first += block_elements) {
    for (std::size_t i = 0; i < pairs; ++i) base[i] = draw(static_cast<std::uint32_t>(random_bits(job.seed, first / 2 + i)));
    store_from_double(rounded.data(), 0, job.type, base);
    load_as_double(rounded.data(), 0, job.type, base);
    for (std::size_t i = 0; i < pairs; ++i) {
      block[2 * i] = base[i];
      block[2 * i + 1] = -nudged(base[i], job.type, random_bits(job.seed, first / 2 + i) >> 32);
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, job.count - first));
    store_from_double(job.data, first, job.type, std::span<const double>(block.data(), size));
  }
}

void fill_normal(const fill_job& job, const init_spec& init, content kind) {
  const double scale = kind == content::large_magnitude ? growth(job.type) : 1;
  const double mean = init.mean * scale;
  const double std = init.std * scale;
  const double bound = largest_finite(job.type) / 2;
  const double tiny = smallest_normal(job.type);
  const normal_law law;
  const auto draw = [=](std::uint32_t bits) { return std::clamp(mean + std * law.quantile(bits), -bound, bound); };
  switch (kind) {
    case content::as_declared:
    case content::large_magnitude:
      return write_drawn(job, draw);
    case content::cancellation:
      return write_cancelling_pairs(job, draw);
    case content::denormal:
      return write_drawn(job, [=](std::uint32_t bits) { return (2 * unit_interval(bits) - 1) * tiny; });
    case content::equal_rows:
      return write_rows(job, draw);
    case content::zeros:
      return write_same(job, 0.0);
  }
}

/// Smallest and largest values of the dtype inside [lo, hi).
std::array<double, 2> representable(double lo, double hi, dtype type) {
  const double step = 2 * unit_roundoff(type);
  double bottom = round_through(lo, type);
  if (bottom < lo) bottom = round_through(lo + std::max(std::fabs(lo) * step, smallest_normal(type) * step), type);
  double top = round_through(hi, type);
  if (top >= hi) top = round_through(hi - std::max(std::fabs(hi) * step, smallest_normal(type) * step), type);
  return {bottom, std::max(bottom, top)};
}

void fill_uniform(const fill_job& job, const init_spec& init, content kind) {
  const std::array<double, 2> ends = representable(init.lo, init.hi, job.type);
  const double low = ends[0];
  const double high = ends[1];
  const double near_zero = std::clamp(0.0, low, high);
  const double tiny = smallest_normal(job.type);
  const double middle = round_through(init.lo * 0.5 + init.hi * 0.5, job.type);
  const dtype type = job.type;
  const auto draw = [=, lo = init.lo, hi = init.hi](std::uint32_t bits) {
    const double u = unit_interval(bits);
    return std::clamp(lo * (1 - u) + hi * u, low, high);
  };
  switch (kind) {
    case content::as_declared:
      return write_drawn(job, draw);
    case content::large_magnitude:
      return write_drawn(job, [=](std::uint32_t bits) { return (bits >> 31) == 0 ? low : high; });
    case content::cancellation:
      return write_drawn(job, [=](std::uint32_t bits) { return std::clamp(nudged(middle, type, bits >> 30), low, high); });
    case content::denormal:
      if (near_zero != 0) return write_same(job, near_zero);
      return write_drawn(job, [=](std::uint32_t bits) {
        const double value = (2 * unit_interval(bits) - 1) * tiny;
        return low == 0 ? std::min(std::fabs(value), high) : std::clamp(value, low, high);
      });
    case content::equal_rows:
      return write_rows(job, draw);
    case content::zeros:
      return write_same(job, near_zero);
  }
}

void fill_integers(const fill_job& job, double lo, double hi) {
  auto low = static_cast<std::int64_t>(lo);
  auto high = static_cast<std::int64_t>(hi);
  if (job.index_limit > 0) {
    low = std::clamp<std::int64_t>(low, 0, job.index_limit - 1);
    high = std::clamp<std::int64_t>(high, 0, job.index_limit - 1);
  }
  const std::uint64_t span = static_cast<std::uint64_t>(high - low) + 1;
  if (span <= (std::uint64_t{1} << 32)) {
    write_drawn(job, [=](std::uint32_t bits) { return low + static_cast<std::int64_t>(scale_to(bits, span)); });
  } else {
    write_each(job, [=, seed = job.seed](std::uint64_t i) { return low + static_cast<std::int64_t>(random_bits(seed, i) % span); });
  }
}

/// Ranks 0..n-1 with probability falling as (rank + 1)^-alpha, by the inverse of the continuous law over [1/2, n + 1/2).
class zipf_law {
 public:
  zipf_law(double alpha, std::int64_t n) : power_(1 - alpha), n_(n), low_(integral(0.5)), high_(integral(static_cast<double>(n) + 0.5)) {}

  /// Not rounded: the rank is the floor.
  [[nodiscard]] double quantile(double u) const { return inverse(low_ + u * (high_ - low_)) - 0.5; }
  [[nodiscard]] std::int64_t rank(double position) const {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0, n_ - 1);
  }

 private:
  [[nodiscard]] bool logarithmic() const { return std::fabs(power_) < 1e-9; }
  [[nodiscard]] double integral(double x) const { return logarithmic() ? std::log(x) : (std::pow(x, power_) - 1) / power_; }
  [[nodiscard]] double inverse(double y) const { return logarithmic() ? std::exp(y) : std::pow(1 + y * power_, 1 / power_); }

  double power_;
  std::int64_t n_;
  double low_;
  double high_;
};

void fill_zipf(const fill_job& job, const init_spec& init) {
  std::int64_t n = init.n;
  if (job.index_limit > 0) n = n == 0 ? job.index_limit : std::min(n, job.index_limit);
  const zipf_law law(init.alpha, n);
  if (job.count <= draw_table_size)
    return write_drawn(job, [&](std::uint32_t bits) { return law.rank(law.quantile(unit_interval(bits))); });
  // pow() per element would take longer than the kernel under test: interpolate between 2^16 exact quantiles.
  std::vector<double> quantiles(draw_table_size + 1);
  for (std::size_t i = 0; i <= draw_table_size; ++i)
    quantiles[i] = law.quantile(static_cast<double>(i) / static_cast<double>(draw_table_size));
  write_drawn(job, [&](std::uint32_t bits) {
    const std::size_t cell = bits >> 16;
    const double fraction = static_cast<double>(bits & 0xFFFFu) * 0x1p-16;
    return law.rank(quantiles[cell] + fraction * (quantiles[cell + 1] - quantiles[cell]));
  });
}

void fill_arange(const fill_job& job, const init_spec& init) {
  if (is_float(job.type)) return write_each(job, [&](std::uint64_t i) { return init.start + init.step * static_cast<double>(i); });
  const auto start = static_cast<std::uint64_t>(static_cast<std::int64_t>(init.start));
  const auto step = static_cast<std::uint64_t>(static_cast<std::int64_t>(init.step));
  write_each(job, [=](std::uint64_t i) { return static_cast<std::int64_t>(start + step * i); });
}

result<void> fill_from_file(const fill_job& job, const std::filesystem::path& file) {
  const std::uint64_t wanted = job.count * size_of(job.type);
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    return fail(fault::missing_here,
                fmt::format("the init file {} can't be read; it was there when the problem was loaded", file.string()));
  auto* bytes = static_cast<char*>(job.data);
  stream.read(bytes, static_cast<std::streamsize>(wanted));
  const auto got = static_cast<std::uint64_t>(stream.gcount());
  if (got == 0 || (got < wanted && got % size_of(job.type) != 0))
    return fail(fault::missing_here, fmt::format("the init file {} holds no whole number of elements any more", file.string()));
  for (std::uint64_t i = got; i < wanted; ++i) bytes[i] = bytes[i - got];  // a shape larger than the file sees it again and again
  if (job.index_limit > 0) write_each(job, [&](std::uint64_t i) { return load_as_int64(job.data, i, job.type); });
  return {};
}

template <class T, class Less>
void sort_rows(const fill_job& job, Less less) {
  T* values = static_cast<T*>(job.data);
  for (std::uint64_t first = 0; first < job.count; first += job.row) std::sort(values + first, values + first + job.row, less);
}

void sort_rows(const fill_job& job) {
  // NaN from a file goes last: a comparison that NaN breaks would be undefined behaviour in std::sort.
  const auto less = [](auto a, auto b) { return a < b || (b != b && a == a); };
  switch (job.type) {
    case dtype::f64:
      return sort_rows<double>(job, less);
    case dtype::f32:
      return sort_rows<float>(job, less);
    case dtype::i64:
      return sort_rows<std::int64_t>(job, std::less<>());
    case dtype::i32:
      return sort_rows<std::int32_t>(job, std::less<>());
    case dtype::i16:
      return sort_rows<std::int16_t>(job, std::less<>());
    case dtype::i8:
      return sort_rows<std::int8_t>(job, std::less<>());
    case dtype::u8:
    case dtype::boolean:
      return sort_rows<std::uint8_t>(job, std::less<>());
    default:
      break;
  }
  std::vector<double> row(static_cast<std::size_t>(job.row));
  for (std::uint64_t first = 0; first < job.count; first += job.row) {
    load_as_double(job.data, first, job.type, row);
    std::sort(row.begin(), row.end(), less);
    store_from_double(job.data, first, job.type, row);
  }
}

result<void> fill(const fill_job& job, const init_spec& init, content kind) {
  switch (init.which) {
    case init_spec::kind::normal:
      fill_normal(job, init, kind);
      break;
    case init_spec::kind::uniform:
      fill_uniform(job, init, kind);
      break;
    case init_spec::kind::integers:
      // Default indices take the whole range that these axes allow, not the one that every workload shares.
      if (init.is_default && job.index_limit > 0)
        fill_integers(job, 0, std::min(static_cast<double>(job.index_limit - 1), largest_finite(job.type)));
      else
        fill_integers(job, init.lo, init.hi);
      break;
    case init_spec::kind::zipf:
      fill_zipf(job, init);
      break;
    case init_spec::kind::constant:
      if (is_float(job.type))
        write_same(job, init.value);
      else
        write_same(job, static_cast<std::int64_t>(init.value));
      break;
    case init_spec::kind::arange:
      fill_arange(job, init);
      break;
    case init_spec::kind::sorted:
      if (auto filled = fill(job, init.of.front(), content::as_declared); !filled) return filled;
      sort_rows(job);
      break;
    case init_spec::kind::file:
      return fill_from_file(job, init.file);
  }
  return {};
}

}  // namespace

std::string_view name_of(content kind) {
  return content_names[static_cast<std::size_t>(kind)];
}

std::vector<content> applicable_contents(const problem& p) {
  std::vector<content> contents = {content::as_declared};
  const bool hurtable = std::any_of(p.tensors.begin(), p.tensors.end(),
                                    [](const tensor_declaration& t) { return t.role == tensor_role::input && is_hurtable(t); });
  if (!hurtable) return contents;
  for (const content kind : {content::large_magnitude, content::cancellation, content::denormal, content::equal_rows, content::zeros})
    contents.push_back(kind);
  return contents;
}

compare_spec compare_for(const problem& p, int tensor, const std::vector<std::int64_t>& axes, content kind) {
  compare_spec compare = compare_for(p, tensor, axes);
  if (kind != content::large_magnitude || compare.mode != compare_mode::allclose || p.statements.empty()) return compare;
  const std::vector<double> declared = declared_sizes(p);
  std::vector<double> grown = declared;
  for (std::size_t i = 0; i < grown.size(); ++i)
    if (is_hurtable(p.tensors[i]) && p.tensors[i].init.which == init_spec::kind::normal) grown[i] *= growth(p.tensors[i].type);
  const error_estimate before = estimate_error(p, tensor, axes, declared);
  const error_estimate after = estimate_error(p, tensor, axes, grown);
  const double by_error = before.error > 0 ? after.error / before.error : 1;
  const double by_size = before.size > 0 ? after.size / before.size : 1;
  compare.atol *= std::max({1.0, by_error, by_size});
  return compare;
}

result<void> fill_input(const problem& p, int tensor, const std::vector<std::int64_t>& axes, std::uint64_t seed, content kind, void* data) {
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(tensor)];
  const std::vector<std::int64_t> shape = shape_of(t, axes);
  fill_job job{};
  job.type = t.type;
  // The content is part of the seed, so that no kernel meets the same numbers under two names.
  job.seed = derive_seed(seed, fmt::format("input {} {}", t.name, name_of(kind)));
  job.count = static_cast<std::uint64_t>(element_count(shape));
  job.row = shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
  job.data = data;
  for (const dim& limit : t.index_limits) {
    const std::int64_t extent = extent_of(limit, axes);
    job.index_limit = job.index_limit == 0 ? extent : std::min(job.index_limit, extent);
  }
  return fill(job, t.init, kind);
}

}  // namespace kernsmith
