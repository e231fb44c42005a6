#include "backends/pytorch/evaluator.hpp"

#include <fmt/format.h>

#include "backends/cpp/candidate_language.hpp"
#include "backends/cpp/evaluator.hpp"
#include "backends/cuda/candidate_language.hpp"
#include "backends/cuda/device.hpp"
#include "backends/cuda/evaluator.hpp"
#include "backends/pytorch/candidates.hpp"

namespace kernsmith::pytorch {

namespace {

constexpr const char* triton_remedy = "pip install triton, for the Python that has PyTorch";

class on_processors final : public cpp::candidate_language {
 public:
  explicit on_processors(python_candidates candidates) : candidates_(std::move(candidates)) {}
  std::string name() const override { return "python"; }
  std::string compiler() const override { return candidates_.compiler(); }
  std::string flags() const override { return ""; }
  result<harness::built_kernel> build(const std::string& source, double timeout_s) const override {
    return candidates_.build(source, timeout_s);
  }
  void prepare(harness::runner_options& options) const override { candidates_.prepare(options); }
  bool may_execute(const std::filesystem::path&, const std::filesystem::path& file) const override { return candidates_.may_execute(file); }
  bool may_generate_code() const override { return true; }  // PyTorch's own libraries do

 private:
  python_candidates candidates_;
};

class on_a_device final : public cuda::candidate_language {
 public:
  explicit on_a_device(python_candidates candidates) : candidates_(std::move(candidates)) {}
  std::string name() const override { return "python"; }
  cuda::front_end compiled_with() const override { return {}; }
  std::optional<result<harness::built_kernel>> build(const std::string& source, double timeout_s) const override {
    return candidates_.build(source, timeout_s);
  }
  void prepare(harness::runner_options& options) const override { candidates_.prepare(options); }
  bool may_execute(const std::filesystem::path& file) const override { return candidates_.may_execute(file); }
  bool may_generate_code() const override { return true; }
  result<void> complete(const std::string&, harness::built_kernel&, double) const override { return {}; }
  std::map<std::string, double> signals(const harness::built_kernel&) const override { return {}; }

 private:
  python_candidates candidates_;
};

std::string language_of(const std::string& target) {
  return target.substr(0, target.find('/'));
}

std::string place_of(const std::string& target) {
  const std::size_t slash = target.find('/');
  return slash == std::string::npos ? "" : target.substr(slash + 1);
}

}  // namespace

result<std::string> resolve_target(const std::string& name) {
  const std::string language = language_of(name), place = place_of(name);
  const auto python = find_python();
  if (!python) return tl::unexpected(python.error());
  if (language == "triton" && !python->has("triton"))
    return fail(fault::missing_here,
                fmt::format("target triton needs the package triton, which {} does not have: {}", python->program.string(), triton_remedy));
  const auto device = place == "cpu" ? fail(fault::missing_here, "") : cuda::target_here();
  if (device) {
    const std::string architecture = place_of(*device);
    if (place.empty() || place == "cuda" || place == architecture) return language + "/" + architecture;
    return fail(fault::bad_request, fmt::format("target '{}' can't be measured here: this machine's device is {}; use --target {}/cuda",
                                                name, architecture, language));
  }
  if (place.empty() || place == "cpu") return language + "/cpu";
  if (place != "cuda" && !place.starts_with("sm_"))
    return fail(fault::bad_request, fmt::format("unknown target '{}'; there are {}/cpu and {}/cuda", name, language, language));
  return tl::unexpected(device.error());
}

result<std::unique_ptr<harness::evaluator>> open_evaluator(const std::string& target, const problem& p,
                                                           const harness::evaluator_options& options) {
  if (options.strict)
    return fail(fault::missing_here, "--strict needs sanitizers, which kernels in Python can't be built with; leave it out");
  auto python = find_python();
  if (!python) return tl::unexpected(python.error());
  const bool on_device = place_of(target) != "cpu";
  python_candidates candidates(std::move(*python), p, options.cache, on_device, !on_device && language_of(target) == "triton");
  if (on_device) return cuda::open_evaluator(p, options, std::make_shared<on_a_device>(std::move(candidates)));
  return cpp::open_evaluator(p, options, std::make_unique<on_processors>(std::move(candidates)));
}

}  // namespace kernsmith::pytorch
