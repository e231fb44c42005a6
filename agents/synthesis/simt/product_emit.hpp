// Source text of one product on the ordinary arithmetic units.
#pragma once

#include "agents/synthesis/simt/product_schedule.hpp"

namespace kernsmith::agents::simt {

[[nodiscard]] emitted_group emit_product(const tensor_ir& ir, const fusion_group& group, const product_plan& plan,
                                         const product_schedule& schedule, const simt_model& model);

}  // namespace kernsmith::agents::simt
