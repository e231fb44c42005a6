// What a problem's definition asks of a machine.
#include <doctest/doctest.h>

#include <filesystem>

#include "backends/cpp/work_model.hpp"
#include "config/problem.hpp"

using namespace kernsmith;

TEST_CASE("sums over products of different operands are what matrix units compute") {
  for (const auto& [name, products] : {std::pair{"linear_gelu", true},
                                       {"matmul", true},
                                       {"conv2d_bias_relu", true},
                                       {"softmax", false},
                                       {"column_sum", false},
                                       {"rmsnorm", false}}) {
    CAPTURE(name);
    const auto p = load_problem(std::filesystem::path(KERNSMITH_SOURCE_DIR) / "docs/examples" / (std::string(name) + ".toml"));
    REQUIRE(p.has_value());
    CHECK(cpp::work_of(*p, p->workloads.front().axes).sums_products == products);
  }
}
