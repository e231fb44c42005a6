#include "backends/pytorch/hosting.hpp"

#include <fmt/format.h>

#include "backends/cpp/build_cache.hpp"
#include "config/hash.hpp"

namespace kernsmith::pytorch {

namespace fs = std::filesystem;

namespace {

/// Importing PyTorch takes a second or two from a warm disk, and much longer from a cold one.
constexpr double load_timeout_s = 180;
/// torch.compile's own compilers run when a shape is first seen.
constexpr double compile_allowance_s = 300;
constexpr std::int64_t host_tmpfs_bytes = std::int64_t{512} << 20;
constexpr std::int64_t device_import_bytes = std::int64_t{8} << 30;  ///< CUDA's libraries and contexts, beside what a kernel may take
/// Beside a document in the build cache: that it is one, and what is particular about it.
constexpr const char* marker_folder = "kernels";
constexpr const char* marker_file = "hosted";

std::vector<std::pair<std::string, std::string>> python_environment(const python_installation& python) {
  return {{"PYTHONPATH", fmt::format("{}", fmt::join(python.search_path, ":"))},
          {"PYTHONDONTWRITEBYTECODE", "1"},
          {"PYTHONUNBUFFERED", "1"},
          {"PYTHONNOUSERSITE", "1"},
          {"TORCHINDUCTOR_COMPILE_THREADS", "1"},
          {"TORCHINDUCTOR_CACHE_DIR", "/tmp/inductor"},
          {"TRITON_CACHE_DIR", "/tmp/triton"},
          {"TORCH_EXTENSIONS_DIR", "/tmp/extensions"},
          {"XDG_CACHE_HOME", "/tmp/cache"},
          {"USER", "nobody"}};
}

constexpr std::string_view compile_builtin = "torch.compile";

bool is_compiled(const baseline_spec& spec) {
  return spec.builtin.starts_with(compile_builtin);
}

/// "max-autotune" of "torch.compile max-autotune".
std::string mode_of(const baseline_spec& spec) {
  const std::size_t blank = spec.builtin.find(' ');
  return blank == std::string::npos ? "" : spec.builtin.substr(blank + 1);
}

class python_hosting final : public harness::hosted_kernels {
 public:
  explicit python_hosting(fs::path cache) : cache_(std::move(cache)) {}
  result<harness::built_kernel> reference(const problem& p, bool on_device) override;
  result<harness::built_kernel> baseline(const problem& p, const baseline_spec& spec, bool on_device) override;
  std::string describe(const baseline_spec& spec, bool on_device) override;
  void prepare(harness::runner_options& options) const override;

 private:
  fs::path cache_;
};

result<harness::built_kernel> python_hosting::reference(const problem& p, bool on_device) {
  if (p.reference->language != "python") {
    return fail(fault::bad_request, fmt::format("{}: a reference in {} can't be run here; give a definition, a C++ or a Python reference",
                                                p.path.string(), p.reference->language));
  }
  const auto python = find_python();
  if (!python) return tl::unexpected(python.error());
  hosted_source source;
  source.role = kernel_role::reference;
  source.on_device = on_device;
  source.name = p.reference->path.filename().string();
  source.text = p.reference->text;
  return keep_document(cache_, *python, hosted_document(p, source));
}

result<harness::built_kernel> python_hosting::baseline(const problem& p, const baseline_spec& spec, bool on_device) {
  const auto python = find_python();
  if (!python) return tl::unexpected(python.error());
  hosted_source source;
  source.role = kernel_role::baseline;
  source.on_device = on_device;
  source.compiled = is_compiled(spec);
  source.mode = mode_of(spec);
  const source_file* file = spec.source ? &*spec.source : nullptr;
  if (file == nullptr && p.module) file = &p.module->source;
  if (file == nullptr && p.reference && p.reference->language == "python") file = &*p.reference;
  if (file == nullptr) {
    return fail(fault::bad_request,
                fmt::format("{}: baseline '{}' (builtin \"{}\") runs a PyTorch module, and the problem has none; give [module], a Python "
                            "reference, or the baseline's own source",
                            p.path.string(), spec.name, spec.builtin));
  }
  const std::string& version = python->packages.at("torch");
  if (source.compiled && version.starts_with("1."))
    return fail(fault::missing_here,
                fmt::format("baseline '{}' needs torch.compile, which came with PyTorch 2.0; {} has {}. Name a Python with a newer one in "
                            "KERNSMITH_PYTHON, or leave the baseline out",
                            spec.name, python->program.string(), version));
  source.name = file->path.filename().string();
  source.text = file->text;
  return keep_document(cache_, *python, hosted_document(p, source));
}

std::string python_hosting::describe(const baseline_spec& spec, bool on_device) {
  const auto python = find_python();
  if (!python) return {};
  std::string how = is_compiled(spec) ? spec.builtin : "eager";
  // PyTorch's own defaults, which are left as a user has them.
  if (on_device) how += ", TF32 off in matrix products and on in convolutions";
  return fmt::format("{}: PyTorch {}, Python {}, {}", spec.name, python->packages.at("torch"), python->version, how);
}

void python_hosting::prepare(harness::runner_options& options) const {
  if (!options.trusted || !is_document(options.library)) return;
  const auto python = find_python();
  if (!python) return;  // it was there when the document was made
  host_with(*python, options);
  options.outputs_follow = true;
  options.renewable = options.accelerator.driver.empty();
  options.may_fork = true;  // torch.compile starts compilers
  options.new_set_allowance_s = compile_allowance_s;
}

}  // namespace

result<harness::built_kernel> keep_document(const fs::path& cache_folder, const python_installation& python,
                                            const nlohmann::json& document) {
  auto cache = cpp::build_cache::open(cache_folder);
  if (!cache) return tl::unexpected(cache.error());
  const std::string text = document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string key = content_hash(fmt::format("python 1\x1e{}\x1e{}\x1e{}", python.program.string(), python.version, text));
  if (auto known = cache->find(key)) return std::move(*known);
  auto work = cache->make_work_folder();
  if (!work) return tl::unexpected(work.error());
  harness::built_kernel kernel;
  kernel.machine_code = content_hash(text);
  std::error_code failed;
  fs::create_directory(*work / marker_folder, failed);
  if (auto written = cpp::write_file(*work / marker_folder / marker_file, "1\n"); !written) return tl::unexpected(written.error());
  auto kept = cache->keep(key, *work, text, kernel);
  fs::remove_all(*work, failed);
  if (!kept) return tl::unexpected(kept.error());
  return kernel;
}

bool is_document(const fs::path& library) {
  std::error_code failed;
  return fs::is_regular_file(library.parent_path() / marker_folder / marker_file, failed);
}

harness::sandbox_spec python_sandbox(const python_installation& python) {
  harness::sandbox_spec spec;
  spec.command = {python.program.string()};
  spec.read_only = python.folders;
  spec.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LC_ALL", "C.UTF-8"}, {"HOME", "/tmp"}, {"TMPDIR", "/tmp"}};
  for (auto&& variable : python_environment(python)) spec.environment.push_back(std::move(variable));
  return spec;
}

void host_with(const python_installation& python, harness::runner_options& options) {
  options.host = {python.program.string(), "-B", "-c", host_program()};
  options.readable.insert(options.readable.end(), python.folders.begin(), python.folders.end());
  for (auto&& variable : python_environment(python)) options.environment.push_back(std::move(variable));
  options.load_timeout_s = std::max(options.load_timeout_s, load_timeout_s);
  options.tmpfs_bytes = host_tmpfs_bytes;
  if (!options.accelerator.driver.empty()) options.memory_limit_bytes += device_import_bytes;
}

std::shared_ptr<harness::hosted_kernels> open_hosting(const fs::path& cache) {
  return std::make_shared<python_hosting>(cache);
}

}  // namespace kernsmith::pytorch
