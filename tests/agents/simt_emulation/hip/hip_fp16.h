// Stand-in, see hip_runtime.h beside this.
#pragma once

#include "../cuda_fp16.h"
