// Dimensions that are read as several become several: x[i, 8*j + r] of x[I, 48] is x[i, j, r] of x[I, 6, 8], at the same addresses.
#pragma once

#include "agents/synthesis/ir.hpp"

namespace kernsmith::agents {

/// Splits literal extents at the strides by which loads take them apart, together with every index that stands for such a dimension as a
/// whole. What reshapes and heads of attention look like in a definition becomes the products, rows and reductions that it is. A dimension
/// stays whole where an access to it would not come out as one index or literal in each part (sliding windows, gathers, padded tensors,
/// extents that are axes), and where the parts would be worse to walk than the whole (short windows).
void split_dimensions(tensor_ir& ir);

}  // namespace kernsmith::agents
