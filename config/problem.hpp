// A problem: what to compute, on which workloads, compared how. Immutable once loaded; named by the hash of its meaning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/definition.hpp"
#include "config/dtype.hpp"
#include "config/error.hpp"

namespace kernsmith {

/// How an input is filled. Default: standard normal for floats, valid indices for a tensor that is used as one, else integers -128..127 (u8
/// 0..255, bool 0..1).
struct init_spec {
  enum class kind : std::uint8_t { normal, uniform, integers, zipf, constant, arange, sorted, file };
  kind which = kind::normal;
  bool is_default = true;  ///< not written by the user
  double mean = 0, std = 1;
  double lo = 0, hi = 1;       ///< uniform: [lo, hi); integers: both ends included
  double alpha = 1;            ///< zipf
  std::int64_t n = 0;          ///< zipf: values 0..n-1
  double value = 0;            ///< constant
  double start = 0, step = 1;  ///< arange
  std::vector<init_spec> of;   ///< sorted: the one spec whose values are sorted along the last dimension
  std::filesystem::path file;  ///< file: raw little-endian elements, row-major, absolute path
};

enum class tensor_role : std::uint8_t { input, output, intermediate };

/// An intermediate without a declared dtype takes the widest dtype that its expression reads (a cast counts as what it gives), but no float
/// narrower than precision_contract::lowest and no integer narrower than i32; it is never rounded by the reference. Names may equal index
/// names of the definition or words of a target language: emitters must keep them apart.
struct tensor_declaration {
  std::string name;
  tensor_role role = tensor_role::input;
  dtype type = dtype::f32;
  bool type_declared = false;  ///< intermediates: the user gave the dtype, so values are rounded to it
  std::vector<dim> shape;
  init_spec init;             ///< inputs
  std::optional<double> pad;  ///< value of a load that falls outside; none: such loads are refused
  /// Inputs used as gather indices: values must stay in [0, extent) for each of these extents (all must hold).
  std::vector<dim> index_limits;
  source_place place;
};

struct workload {
  std::vector<std::int64_t> axes;  ///< extents, parallel to problem::axes
  double weight = 1.0;
};

enum class compare_mode : std::uint8_t { bitwise, ulp, allclose, normwise };

/// How outputs are compared. Not written: by the output's dtype, integers and bool bitwise, floats allclose with
///
///   | dtype  | rtol   | atol at least |
///   | f64    | 1e-10  | 1e-12         |
///   | f32    | 1e-5   | 1e-6          |
///   | f16    | 2e-3   | 1e-4          |
///   | bf16   | 1.6e-2 | 1e-3          |
///   | f8e4m3 | 1.3e-1 | 1e-2          |
///   | f8e5m2 | 2.6e-1 | 1e-2          |
///
/// compare_for() raises atol above that floor where rounding alone goes further: sums of K terms that cancel leave an absolute error that
/// grows with K, whatever the result. Four times the error expected of a plain left-to-right evaluation in f32 (f64 for f64 outputs) is
/// allowed.
struct compare_spec {
  compare_mode mode = compare_mode::allclose;
  double atol = 1e-6;  ///< allclose: |y - r| <= atol + rtol * |r|
  double rtol = 1e-5;
  double ulp = 0;        ///< ulp: distance in units of the output's dtype
  double norm = 0;       ///< normwise: ||y - r|| <= norm * ||r||
  bool written = false;  ///< false: compare_for() decides for each output; the fields hold its answer for the first one
};

struct precision_contract {
  dtype lowest = dtype::f32;  ///< nothing below this inside the kernel
  double error_multiple = 4;  ///< candidate's error may be at most this multiple of the reference's own, where stated
  bool written = false;
};

enum class metric : std::uint8_t { latency, p90, p99, throughput };

/// How a timed call is started. graph: launch is recorded once for each set of buffers, and timed calls replay the recording.
enum class replay_mode : std::uint8_t { none, graph };

/// What a file of that language is called behind the dot: "cpp", "cu" for "cuda", ...
[[nodiscard]] std::string file_suffix_of(const std::string& language);

/// Source code a user hands over: reference, baseline or seed kernel.
struct source_file {
  std::string language;  ///< "c" | "cpp" | "cuda" | "python"
  std::filesystem::path path;
  std::string text;
  std::string name;
};

struct baseline_spec {
  std::string name;
  std::string builtin;  ///< "naive" | "openblas" | "pytorch" | "torch.compile" | "cublas"; empty with a source
  std::optional<source_file> source;
};

/// One argument of a module's forward: an input of the problem, or a plain number.
struct module_argument {
  std::string input;  ///< empty for a number
  double number = 0;
  bool is_integer = false;  ///< the number was written without a point
};

/// The PyTorch module that the problem was made from ([module]): how its file computes the outputs from the inputs.
struct module_spec {
  source_file source;                             ///< with `class Model` and get_init_inputs()
  std::vector<module_argument> arguments;         ///< of forward, in order
  std::map<std::string, std::string> parameters;  ///< input -> key in the module's state_dict
  std::vector<std::string> outputs;               ///< what forward returns, in order
  std::map<std::string, std::string> constants;   ///< axis -> constant of the module's file that holds its extent
  std::map<std::string, std::int64_t> overrides;  ///< constants of the module's file that have another value than there, and are no axes
  /// What forward gives in another shape than [outputs] says: as many elements in the same order.
  std::map<std::string, std::vector<dim>> shapes;
};

struct axis {
  std::string name;
  std::int64_t extent = 1;
};

struct problem {
  std::string name;
  /// 32 hex digits over the meaning. Counts: names of axes and tensors, their order within [inputs] and [outputs] (it is the order of the
  /// kernel's arguments), dtypes, shapes, pads, inits, statements as resolved trees, the content of sources and init files, baselines, seed
  /// kernels, workloads, comparison, precision, permitted libraries, objective, replay. Doesn't count: `name`, the file's name, whitespace,
  /// comments, order of keys and of workloads, names of indices, extents in [axes] that every workload overrides.
  std::string hash;
  std::filesystem::path path;
  std::vector<axis> axes;
  std::vector<tensor_declaration> tensors;  ///< inputs, then outputs, then intermediates, each in file order
  std::vector<statement> statements;        ///< empty when `reference` is given
  std::optional<source_file> reference;
  std::vector<baseline_spec> baselines;  ///< never empty; the first is the one speed-up is counted against
  std::vector<source_file> seed_kernels;
  std::optional<module_spec> module;
  std::vector<workload> workloads;  ///< never empty
  compare_spec compare;
  precision_contract precision;
  std::vector<std::string> libraries;  ///< vendors' libraries that a candidate may call, sorted; none unless the problem says so
  metric objective = metric::latency;
  replay_mode replay = replay_mode::none;

  [[nodiscard]] std::vector<int> inputs() const;
  [[nodiscard]] std::vector<int> outputs() const;
};

/// Extent of `d` under the axes of one workload.
[[nodiscard]] std::int64_t extent_of(const dim& d, const std::vector<std::int64_t>& axes);
/// Shape of a tensor under the axes of one workload.
[[nodiscard]] std::vector<std::int64_t> shape_of(const tensor_declaration& tensor, const std::vector<std::int64_t>& axes);
[[nodiscard]] std::int64_t element_count(const std::vector<std::int64_t>& shape);

/// The table above.
[[nodiscard]] compare_spec default_compare(dtype output);
/// How output `tensor` is compared under `axes`: as written, else default_compare with atol raised to the error expected of the definition.
/// The estimate takes inputs as their init declares them; contents of another magnitude need atol in proportion.
[[nodiscard]] compare_spec compare_for(const problem& p, int tensor, const std::vector<std::int64_t>& axes);

/// Are these axes a legal workload: positive extents, no more than max_elements, every load without pad in range?
/// The message says which load and what it reaches.
[[nodiscard]] result<void> check_axes(const problem& p, const std::vector<std::int64_t>& axes);

inline constexpr std::int64_t max_elements_per_tensor = std::int64_t{1} << 32;

/// Refuses two problems with one name: they would share a session's folder.
[[nodiscard]] result<void> check_distinct(const std::vector<problem>& problems);

/// Loads and validates a problem file. Errors carry "file:line:column: what is wrong; what to do".
[[nodiscard]] result<problem> load_problem(const std::filesystem::path& file);
/// Same from memory; `file` is used for messages and for resolving relative sources.
[[nodiscard]] result<problem> parse_problem(const std::string& text, const std::filesystem::path& file);

}  // namespace kernsmith
