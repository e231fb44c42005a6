// expect: build_failed
// problem: affine
// effort: search
// origin: invented
// why: launch is a variable
extern "C" {
int launch = 1;
}
