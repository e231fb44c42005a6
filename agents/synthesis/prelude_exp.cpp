// Prelude pieces "exp", "expm1" and "sigmoid".
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view exp_text = R"cpp(// ---- exp ----
                                        // exp(x) = 2^n exp(r) with n = round(x / ln 2), |r| <= ln 2 / 2; ln 2 in two parts keeps r exact.
                                        // The polynomial is a minimax fit of (exp(r) - 1 - r) / r^2 (relative error of the whole 2^-28).
                                        static inline vf ks_exp_reduced(vf r) {  // (exp(r) - 1 - r) / r^2
                                          vf p = vfma(vset(0x1.6a2352p-10f), r, vset(0x1.123a6cp-7f));
                                          p = vfma(p, r, vset(0x1.5558f4p-5f));
                                          p = vfma(p, r, vset(0x1.55549p-3f));
                                          return vfma(p, r, vset(0x1.fffffcp-2f));
                                        }
                                        static inline vf ks_exp_split(vf x, vf& n) {
                                          n = vround(x * 0x1.715476p+0f);
                                          return vfma(n, vset(0x1.05c61p-29f), vfma(n, vset(-0x1.62e43p-1f), x));
                                        }
                                        // x * 2^n for whole n; rounds once, so that results in the subnormal range are right.
                                        static inline vf vscale(vf x, vf n) {
#if KS_AVX512
                                          return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
                                          const vi whole = to_vi(vmin(vmax(n, vset(-252.0f)), vset(254.0f))), half = whole >> 1;
                                          return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
#endif
                                        }
                                        // At most 1 ulp; overflows to infinity, underflows through the subnormals to 0, NaN stays NaN.
                                        static inline vf vexp(vf x) {
                                          // Beyond these bounds the result is infinity or 0 anyway. The operand order lets NaN through.
                                          x = vmin(vset(89.0f), vmax(vset(-104.0f), x));
                                          vf n;
                                          const vf r = ks_exp_split(x, n);
                                          return vscale(vfma(ks_exp_reduced(r) * r, r, r) + 1.0f, n);
                                        }
)cpp";

}  // namespace kernsmith::agents::prelude
