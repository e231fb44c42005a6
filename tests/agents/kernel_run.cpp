// The run of a compiled kernel in a child process, and the comparison of what it wrote with the interpreter.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/harness/kernsmith_kernel.h"
#include "config/interpreter.hpp"
#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

constexpr unsigned child_seconds = 60;
constexpr std::size_t workspace_bytes = 64 << 20;
constexpr unsigned char canary = 0xA7;

/// Shared memory with an unreadable page right behind it; the data end there, as far as 64-byte alignment allows.
class guarded_buffer {
 public:
  explicit guarded_buffer(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    padded_ = (bytes + 63) / 64 * 64;
    const std::size_t body = (padded_ + page - 1) / page * page;
    mapped_ = body + page;
    base_ = static_cast<unsigned char*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + body, page, PROT_NONE);
    data_ = base_ + body - padded_;
    std::memset(base_, canary, body);
  }
  ~guarded_buffer() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }
  guarded_buffer(guarded_buffer&& other) noexcept
      : bytes_(other.bytes_),
        padded_(other.padded_),
        mapped_(other.mapped_),
        base_(std::exchange(other.base_, nullptr)),
        data_(other.data_) {}
  guarded_buffer& operator=(guarded_buffer&&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] bool surroundings_intact() const {
    const auto untouched = [](unsigned char byte) { return byte == canary; };
    return std::all_of(base_, data_, untouched) && std::all_of(data_ + bytes_, data_ + padded_, untouched);
  }

 private:
  std::size_t bytes_ = 0, padded_ = 0, mapped_ = 0;
  unsigned char* base_ = nullptr;
  unsigned char* data_ = nullptr;
};

/// One tensor as the kernel sees it.
struct argument {
  guarded_buffer buffer;
  std::vector<std::int64_t> shape, strides;
  ks_tensor view{};

  argument(const tensor_declaration& tensor, const std::vector<std::int64_t>& axes)
      : buffer(static_cast<std::size_t>(element_count(shape_of(tensor, axes))) * size_of(tensor.type)),
        shape(shape_of(tensor, axes)),
        strides(shape.size(), 1) {
    for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    view = {buffer.data(), static_cast<std::int32_t>(tensor.type), static_cast<std::int32_t>(shape.size()), shape.data(), strides.data()};
  }
};

struct value_source {
  std::mt19937_64 random;
  const tensor_declaration& tensor;
  const std::vector<std::int64_t>& axes;
  bool special_values;

  double uniform(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(random); }
  std::int64_t integer(std::int64_t lo, std::int64_t hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); }

  double special() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double choices[] = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 1e30, -1e30, 0.0, -0.0, 1e-42};
    return choices[random() % std::size(choices)];
  }

  double from(const init_spec& init, std::int64_t element) {
    switch (init.which) {
      case init_spec::kind::normal:
        return std::normal_distribution<double>(init.mean, init.std)(random);
      case init_spec::kind::uniform:
        return uniform(init.lo, init.hi);
      case init_spec::kind::integers:
        return static_cast<double>(integer(static_cast<std::int64_t>(init.lo), static_cast<std::int64_t>(init.hi)));
      case init_spec::kind::zipf:
        return static_cast<double>(integer(0, std::max<std::int64_t>(init.n, 1) - 1));
      case init_spec::kind::constant:
        return init.value;
      case init_spec::kind::arange:
        return init.start + init.step * static_cast<double>(element);
      case init_spec::kind::sorted:
        return from(init.of.front(), element);
      case init_spec::kind::file:
        return 0;
    }
    return 0;
  }

  double next(std::int64_t element) {
    if (!tensor.index_limits.empty()) {
      std::int64_t limit = std::numeric_limits<std::int64_t>::max();
      for (const dim& d : tensor.index_limits) limit = std::min(limit, extent_of(d, axes));
      return static_cast<double>(integer(0, limit - 1));
    }
    if (tensor.type == dtype::boolean) return static_cast<double>(random() & 1);
    if (special_values && is_float(tensor.type) && random() % 16 == 0) return special();
    return from(tensor.init, element);
  }
};

/// Fills an input with values of its dtype, and gives the interpreter the same values.
tensor_values fill(argument& a, const tensor_declaration& tensor, const std::vector<std::int64_t>& axes, std::uint64_t seed,
                   bool special_values) {
  value_source source{std::mt19937_64(seed), tensor, axes, special_values};
  const std::int64_t count = element_count(a.shape);
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) drawn[static_cast<std::size_t>(i)] = source.next(i);
  if (tensor.init.which == init_spec::kind::sorted) {
    const std::int64_t row = a.shape.empty() ? 1 : a.shape.back();
    for (std::int64_t at = 0; at < count; at += row) std::sort(drawn.begin() + at, drawn.begin() + at + row);
  }
  tensor_values values;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    store_from_double(a.buffer.data(), i, tensor.type, drawn[i]);
    if (is_float(tensor.type))
      values.real.push_back(load_as_double(a.buffer.data(), i, tensor.type));
    else
      values.integer.push_back(load_as_int64(a.buffer.data(), i, tensor.type));
  }
  return values;
}

tolerance allowed_for(const tensor_declaration& tensor, const tolerance& asked) {
  if (asked.absolute > 0 || asked.relative > 0) return asked;
  switch (tensor.type) {
    case dtype::f64:
      return {1e-11, 1e-11};
    case dtype::f32:
      return {2e-5, 2e-5};
    case dtype::f16:
      return {2e-3, 2e-3};
    case dtype::bf16:
      return {1.6e-2, 1.6e-2};
    case dtype::f8e4m3:
      return {0.02, 0.13};
    case dtype::f8e5m2:
      return {0.05, 0.26};
    default:
      return {};
  }
}

std::string compare(const tensor_declaration& tensor, const void* got, const tensor_values& expected, const tolerance& asked) {
  const tolerance allowed = allowed_for(tensor, asked);
  const std::size_t count = is_float(tensor.type) ? expected.real.size() : expected.integer.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_float(tensor.type)) {
      std::int64_t want = 0;
      store_from_int64(&want, 0, tensor.type, expected.integer[i]);
      want = load_as_int64(&want, 0, tensor.type);
      const std::int64_t have = load_as_int64(got, i, tensor.type);
      if (have != want) return fmt::format("{}[{}] is {}, not {}", tensor.name, i, have, want);
      continue;
    }
    const double want = round_through(expected.real[i], tensor.type), have = load_as_double(got, i, tensor.type);
    const bool same = std::isnan(want) ? std::isnan(have)
                                       : want == have || std::fabs(have - want) <= allowed.absolute + allowed.relative * std::fabs(want);
    // A value at the edge of the range may round either way.
    const bool at_edge = !std::isfinite(want) && std::fabs(expected.real[i]) <= 1.01 * largest_finite(tensor.type);
    if (!same && !at_edge) return fmt::format("{}[{}] is {:.9g}, not {:.9g}", tensor.name, i, have, want);
  }
  return "";
}

/// The child: loads the kernel and calls it twice (leftovers of the first call must not matter).
int call_in_child(const std::filesystem::path& library, std::vector<ks_tensor>& in, std::vector<ks_tensor>& out, ks_launch& context) {
  alarm(child_seconds);
  using launch_function = int (*)(const ks_tensor*, int, ks_tensor*, int, ks_launch*);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return 101;
  const auto launch = reinterpret_cast<launch_function>(dlsym(handle, "launch"));
  if (launch == nullptr) return 102;
  for (int call = 0; call < 2; ++call) {
    if (launch(in.data(), static_cast<int>(in.size()), out.data(), static_cast<int>(out.size()), &context) != 0) return 103;
    if (call == 0)
      for (std::size_t i = 0; i < out.size(); ++i) {
        std::int64_t elements = 1;
        for (int d = 0; d < out[i].rank; ++d) elements *= out[i].shape[d];
        std::memset(out[i].data, 0xFF, static_cast<std::size_t>(elements) * size_of(static_cast<dtype>(out[i].dtype)));
      }
  }
  return 0;
}

std::string outcome_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("the kernel was killed by signal {}", WTERMSIG(status));
  switch (WEXITSTATUS(status)) {
    case 0:
      return "";
    case 101:
      return "the library can't be loaded";
    case 102:
      return "the library has no launch";
    case 103:
      return "launch refused the case";
    default:
      return fmt::format("the kernel exited with {}", WEXITSTATUS(status));
  }
}

}  // namespace

std::string check_kernel(const problem& p, const std::filesystem::path& library, const std::vector<std::int64_t>& axes,
                         const run_options& options) {
  if (const result<void> legal = check_axes(p, axes); !legal) return legal.error().message;
  std::vector<argument> inputs, outputs;
  std::vector<tensor_values> values(p.tensors.size());
  for (const int id : p.inputs()) {
    const tensor_declaration& tensor = p.tensors[static_cast<std::size_t>(id)];
    inputs.emplace_back(tensor, axes);
    values[static_cast<std::size_t>(id)] =
        fill(inputs.back(), tensor, axes, options.seed * 7919 + static_cast<std::uint64_t>(id), options.special_values);
  }
  for (const int id : p.outputs()) outputs.emplace_back(p.tensors[static_cast<std::size_t>(id)], axes);
  if (const result<void> done = interpret(p, axes, values); !done) return done.error().message;

  std::vector<ks_tensor> in, out;
  for (const argument& a : inputs) in.push_back(a.view);
  for (const argument& a : outputs) out.push_back(a.view);
  std::vector<std::vector<unsigned char>> before;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(in[i].data);
    before.emplace_back(bytes, bytes + static_cast<std::size_t>(element_count(inputs[i].shape)) * size_of(static_cast<dtype>(in[i].dtype)));
  }
  guarded_buffer workspace(options.give_workspace ? workspace_bytes : 64);
  ks_launch context{};
  context.workspace = options.give_workspace ? workspace.data() : nullptr;
  context.workspace_bytes = options.give_workspace ? workspace_bytes : 0;
  context.threads = options.threads;
  context.axes = axes.data();
  context.n_axes = static_cast<std::int32_t>(axes.size());

  const pid_t child = fork();
  if (child == 0) _exit(call_in_child(library, in, out, context));
  int status = 0;
  waitpid(child, &status, 0);
  if (const std::string wrong = outcome_of(status); !wrong.empty()) return wrong;

  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].buffer.surroundings_intact() || std::memcmp(before[i].data(), in[i].data, before[i].size()) != 0)
      return fmt::format("input {} was written", i);
  const std::vector<int> output_ids = p.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto id = static_cast<std::size_t>(output_ids[i]);
    if (!outputs[i].buffer.surroundings_intact()) return fmt::format("written beyond output {}", p.tensors[id].name);
    if (const std::string wrong = compare(p.tensors[id], out[i].data, values[id], options.allowed); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace kernsmith::agents::testing
