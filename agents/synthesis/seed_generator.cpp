// A user's own kernel as a generator: its KS_PARAMs are the decisions.
#include <fmt/format.h>

#include <utility>

#include "agents/synthesis/parameter_scanner.hpp"
#include "agents/synthesis/rules_grammar.hpp"

namespace kernsmith::agents {
namespace {

class seed_generator final : public generator {
 public:
  seed_generator(const source_file& seed, std::vector<tunable_parameter> parameters)
      : source_(seed.text), parameters_(std::move(parameters)) {
    space_.name = seed.name;
    for (const tunable_parameter& p : parameters_) {
      decision d;
      d.name = p.name;
      d.values = p.choices;
      while (d.values[d.preferred] != p.value) ++d.preferred;
      d.meaning = p.comment.empty() ? fmt::format("KS_PARAM on line {}", p.line) : p.comment;
      space_.decisions.push_back(std::move(d));
    }
  }

  const decision_space& space() const override { return space_; }
  assignment normalise(const assignment& wanted) const override { return fit(space_, wanted); }

  result<proposal> generate(const assignment& wanted) const override {
    proposal made;
    made.decisions = normalise(wanted);
    std::string changed;
    std::size_t copied = 0;
    for (const tunable_parameter& p : parameters_) {
      const std::int64_t value = made.decisions.at(p.name);
      made.source.append(source_, copied, p.value_begin - copied);
      // What stays as it was is left as it was written.
      made.source += value == p.value ? source_.substr(p.value_begin, p.value_end - p.value_begin) : std::to_string(value);
      copied = p.value_end;
      if (value != p.value) changed += fmt::format("{}{}={}", changed.empty() ? "" : " ", p.name, value);
    }
    made.source.append(source_, copied, std::string::npos);
    made.rationale = changed.empty() ? fmt::format("The seed kernel '{}' as written.", space_.name)
                                     : fmt::format("The seed kernel '{}' with {}.", space_.name, changed);
    return made;
  }

 private:
  std::string source_;
  std::vector<tunable_parameter> parameters_;
  decision_space space_;
};

}  // namespace

result<std::unique_ptr<generator>> make_seed_generator(const source_file& seed) {
  result<std::vector<tunable_parameter>> parameters = scan_parameters(seed);
  if (!parameters) return tl::unexpected(parameters.error());
  return std::make_unique<seed_generator>(seed, std::move(*parameters));
}

}  // namespace kernsmith::agents
