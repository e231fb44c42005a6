#include "agents/synthesis/prelude_text.hpp"
namespace kernsmith::agents::prelude {
const std::string_view log_text = "";
const std::string_view tanh_text = "";
const std::string_view erf_text = "";
const std::string_view sigmoid_text = "";
const std::string_view log1p_text = "";
const std::string_view expm1_text = "";
const std::string_view sincos_text = "";
const std::string_view pow_text = "";
const std::string_view rsqrt_text = "";
}  // namespace kernsmith::agents::prelude
