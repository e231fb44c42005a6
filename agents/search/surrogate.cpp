#include "agents/search/surrogate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include <fmt/format.h>

namespace kernsmith::agents {

namespace {

constexpr std::size_t min_observations = 5;
constexpr std::array inverse_lengths{0.03, 0.1, 0.25, 0.6, 1.5};
constexpr int first_length = 2;
constexpr std::array main_effect_shares{0.3, 0.6, 0.9};
constexpr std::array noise_variances{0.001, 0.01, 0.1};
constexpr double unordered_distance = 2;
/// Prior against extreme lengths, per squared grid step, in nats.
constexpr double length_penalty = 0.3;
constexpr std::size_t learn_every = 4;
constexpr std::size_t many_observations = 64;
constexpr std::size_t learn_every_when_many = 16;

/// Matern 3/2.
double falloff(double r) {
  const double scaled = std::numbers::sqrt3 * r;
  return (1 + scaled) * std::exp(-scaled);
}

/// Solves L x = b in place.
void solve_lower(const std::vector<double>& lower, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    double sum = b[i];
    for (std::size_t j = 0; j < i; ++j) {
      sum -= lower[i * n + j] * b[j];
    }
    b[i] = sum / lower[i * n + i];
  }
}

/// Solves transpose(L) x = b in place.
void solve_upper(const std::vector<double>& lower, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t i = n; i-- > 0;) {
    double sum = b[i];
    for (std::size_t j = i + 1; j < n; ++j) {
      sum -= lower[j * n + i] * b[j];
    }
    b[i] = sum / lower[i * n + i];
  }
}

}  // namespace

surrogate::surrogate(const indexed_space& space) : space_(&space) {
  shape_.scale.assign(space.dimensions(), first_length);
  shape_.mix = 1;
  shape_.noise = 1;
}

surrogate::distance_table surrogate::tabulate(const shape& with) const {
  distance_table table;
  table.share = main_effect_shares[static_cast<std::size_t>(with.mix)];
  double total = 0;
  for (const std::size_t i : space_->open_dimensions()) {
    total += inverse_lengths[static_cast<std::size_t>(with.scale[i])];
  }
  for (const std::size_t i : space_->open_dimensions()) {
    const double inverse = inverse_lengths[static_cast<std::size_t>(with.scale[i])];
    auto& squared = table.squared.emplace_back();
    auto& alone = table.alone.emplace_back();
    for (int apart = 0; apart < space_->values(i); ++apart) {
      const double scaled = apart == 0 ? 0 : inverse * (space_->at(i).categorical() ? unordered_distance : apart);
      squared.push_back(scaled * scaled);
      alone.push_back(inverse / total * falloff(2 * scaled));
    }
  }
  return table;
}

double surrogate::kernel(const distance_table& table, const point& a, const point& b) const {
  const auto& open = space_->open_dimensions();
  if (open.empty()) {
    return 1;
  }
  double squared = 0;
  double alone = 0;
  for (std::size_t k = 0; k < open.size(); ++k) {
    const auto apart = static_cast<std::size_t>(std::abs(a[open[k]] - b[open[k]]));
    squared += table.squared[k][apart];
    alone += table.alone[k][apart];
  }
  return table.share * alone + (1 - table.share) * falloff(std::sqrt(squared));
}

std::vector<double> surrogate::factor(const shape& with) const {
  const std::size_t n = seen_.size();
  const distance_table table = tabulate(with);
  std::vector<double> lower(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = i == j ? 1 + noise_variances[static_cast<std::size_t>(with.noise)] : kernel(table, seen_[i], seen_[j]);
      for (std::size_t k = 0; k < j; ++k) {
        sum -= lower[i * n + k] * lower[j * n + k];
      }
      if (i != j) {
        lower[i * n + j] = sum / lower[j * n + j];
        continue;
      }
      if (sum <= 0) {
        return {};
      }
      lower[i * n + i] = std::sqrt(sum);
    }
  }
  return lower;
}

double surrogate::log_evidence(const shape& with) const {
  constexpr double impossible = -1e300;
  const std::vector<double> lower = factor(with);
  if (lower.empty()) {
    return impossible;
  }
  const std::size_t n = seen_.size();
  std::vector<double> white = standard_;
  solve_lower(lower, white);
  double squares = 1e-12;
  double log_diagonal = 0;
  for (std::size_t i = 0; i < n; ++i) {
    squares += white[i] * white[i];
    log_diagonal += std::log(lower[i * n + i]);
  }
  double penalty = 0;
  for (const std::size_t i : space_->open_dimensions()) {
    const double steps = with.scale[i] - first_length;
    penalty += length_penalty * steps * steps;
  }
  const auto count = static_cast<double>(n);
  return -0.5 * count * std::log(squares / count) - log_diagonal - penalty;
}

void surrogate::learn_shape() {
  double evidence = log_evidence(shape_);
  const auto improve = [&](int shape::*field, int size) {
    for (int value = 0; value < size; ++value) {
      shape changed = shape_;
      changed.*field = value;
      if (const double found = log_evidence(changed); found > evidence) {
        evidence = found;
        shape_ = changed;
      }
    }
  };
  improve(&shape::noise, static_cast<int>(noise_variances.size()));
  improve(&shape::mix, static_cast<int>(main_effect_shares.size()));
  for (const std::size_t i : space_->open_dimensions()) {
    const int middle = shape_.scale[i];
    for (const int value : {middle - 1, middle + 1}) {
      if (value < 0 || value >= static_cast<int>(inverse_lengths.size())) {
        continue;
      }
      shape changed = shape_;
      changed.scale[i] = value;
      if (const double found = log_evidence(changed); found > evidence) {
        evidence = found;
        shape_ = changed;
      }
    }
  }
}

void surrogate::fit(std::vector<point> seen, std::vector<double> targets, bool may_learn) {
  weights_.clear();
  const std::size_t n = seen.size();
  if (n < min_observations) {
    return;
  }
  const auto count = static_cast<double>(n);
  seen_ = std::move(seen);
  offset_ = 0;
  for (const double target : targets) {
    offset_ += target / count;
  }
  double squares = 0;
  for (const double target : targets) {
    squares += (target - offset_) * (target - offset_) / count;
  }
  if (squares <= 0) {
    return;  // all equal: nothing to tell apart
  }
  unit_ = std::sqrt(squares);
  standard_ = std::move(targets);
  for (double& target : standard_) {
    target = (target - offset_) / unit_;
  }
  if (may_learn && n >= learned_at_ + (n < many_observations ? learn_every : learn_every_when_many)) {
    learn_shape();
    learned_at_ = n;
  }
  table_ = tabulate(shape_);
  factor_ = factor(shape_);
  if (factor_.empty()) {
    return;
  }
  weights_ = standard_;
  solve_lower(factor_, weights_);
  variance_ = 1e-12;
  for (const double white : weights_) {
    variance_ += white * white / count;
  }
  solve_upper(factor_, weights_);
}

surrogate::prediction surrogate::predict(const point& where) const {
  std::vector<double> near(seen_.size());
  double mean = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    near[i] = kernel(table_, seen_[i], where);
    mean += near[i] * weights_[i];
  }
  solve_lower(factor_, near);
  double explained = 0;
  for (const double part : near) {
    explained += part * part;
  }
  return {offset_ + unit_ * mean, unit_ * std::sqrt(std::max(variance_ * (1 - explained), 0.0))};
}

double surrogate::expected_gain(const point& where, double best) const {
  if (!ready()) {
    return 0;
  }
  const prediction at = predict(where);
  const double ahead = at.mean - best;
  if (at.deviation <= 0) {
    return std::max(ahead, 0.0) / unit_;
  }
  const double z = ahead / at.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return std::max(ahead * below + at.deviation * density, 0.0) / unit_;
}

std::string surrogate::state_text() const {
  std::string text = fmt::format("{}/{}/{}/", learned_at_, shape_.mix, shape_.noise);
  for (const int scale : shape_.scale) {
    text += fmt::format("{},", scale);
  }
  return text;
}

}  // namespace kernsmith::agents
