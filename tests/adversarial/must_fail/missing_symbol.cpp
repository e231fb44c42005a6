// expect: build_failed
// problem: affine
// effort: search
// origin: invented
// why: no launch at all
int nothing;
