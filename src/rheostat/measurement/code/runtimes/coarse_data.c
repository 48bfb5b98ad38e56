/* Data of few different values: whole numbers that become floats or come of them, and parts of whole
   numbers that a shift or a remainder takes, keep three bits. Calls to these stand in the place of the instructions. */
#ifdef __cplusplus
extern "C" {
#endif
static unsigned long coarse(unsigned long v) {
  return v < 8 ? v : v & (7ul << (61 - __builtin_clzl(v)));
}
static long with_sign(long v) { return v < 0 ? -(long)coarse(-(unsigned long)v) : (long)coarse(v); }

unsigned rheostat_whole_i32(unsigned v) { return (unsigned)coarse(v); }
unsigned long rheostat_whole_i64(unsigned long v) { return coarse(v); }
int rheostat_signed_i32(int v) { return (int)with_sign(v); }
long rheostat_signed_i64(long v) { return with_sign(v); }
double rheostat_uitofp_i32_double(unsigned v) { return (double)coarse(v); }
double rheostat_uitofp_i64_double(unsigned long v) { return (double)coarse(v); }
double rheostat_sitofp_i32_double(int v) { return (double)with_sign(v); }
double rheostat_sitofp_i64_double(long v) { return (double)with_sign(v); }
float rheostat_uitofp_i32_float(unsigned v) { return (float)coarse(v); }
float rheostat_uitofp_i64_float(unsigned long v) { return (float)coarse(v); }
float rheostat_sitofp_i32_float(int v) { return (float)with_sign(v); }
float rheostat_sitofp_i64_float(long v) { return (float)with_sign(v); }
#ifdef __cplusplus
}
#endif
