#include "backends/cuda/host_reference.hpp"

#include <fmt/format.h>

#include "backends/cpp/machine_facts.hpp"
#include "backends/cpp/reference_source.hpp"
#include "backends/harness/hosted_kernels.hpp"

namespace kernsmith::cuda {

namespace {

constexpr double compute_timeout_s = 600;

}  // namespace

result<std::unique_ptr<host_reference>> host_reference::build(const problem& p, const harness::evaluator_options& options,
                                                              cpp::kernel_clock& clock) {
  std::unique_ptr<host_reference> made(new host_reference(p, options, clock));
  std::string source;
  if (p.reference && p.reference->language == "python" && options.hosted) {
    auto hosted = options.hosted->reference(p, false);
    if (!hosted) return tl::unexpected(hosted.error());
    made->built_ = std::move(*hosted);
    made->form_ = cpp::output_form::wide;
    return made;
  }
  if (p.reference) {
    if (p.reference->language != "cpp") {
      return fail(fault::bad_request,
                  fmt::format("{}: a reference in {} is not available for target cuda; give a definition or a C++ reference",
                              p.path.string(), p.reference->language));
    }
    source = p.reference->text;
  } else {
    auto generated = cpp::reference_source(p);
    if (!generated) return tl::unexpected(generated.error());
    source = *generated;
    made->form_ = cpp::output_form::wide;
  }
  auto compiler = cpp::toolchain::discover(options.cache);
  if (!compiler) return tl::unexpected(compiler.error());
  auto built = compiler->build(source, {}, {}, options.build_timeout_s);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) {
    return fail(p.reference ? fault::bad_request : fault::bug,
                fmt::format("{}: the reference does not build: {}\n{}", p.path.string(), built->detail, built->log));
  }
  made->build_s_ = built->build_s;
  made->built_ = std::move(*built);
  return made;
}

result<std::unique_ptr<cpp::kernel_buffers>> host_reference::buffers(const std::vector<std::int64_t>& axes) const {
  return cpp::make_buffers(p_, axes, harness::guard_side::after, form_);
}

result<void> host_reference::compute(cpp::kernel_buffers& buffers) {
  if (!process_ || !process_->alive()) {
    harness::runner_options runner;
    runner.library = built_.library;
    runner.cores = options_.cores.empty() ? cpp::usable_cores() : options_.cores;
    runner.trusted = true;
    if (options_.hosted) options_.hosted->prepare(runner);
    auto started = cpp::kernel_process::start(runner, clock_);
    if (!started) return tl::unexpected(started.error());
    process_ = std::move(*started);
  }
  auto called = process_->call({&buffers}, compute_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) {
    return fail(p_.reference ? fault::bad_request : fault::bug,
                fmt::format("{}: the reference failed ({}): {}", p_.path.string(), cpp::outcome_of(called->status), called->detail));
  }
  return process_->forget_sets();
}

}  // namespace kernsmith::cuda
