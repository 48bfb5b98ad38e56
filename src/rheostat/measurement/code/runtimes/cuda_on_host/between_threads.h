/* What a kernel's threads say to each other. */
namespace cuda_on_host {
void wait_for(State where, unsigned mask, char *token, int line) {
  Thread &t = self();
  t.state = where, t.mask = mask, t.line = line;
  CUDA_RELEASE(token);
  to_scheduler(t.fibre);
  CUDA_ACQUIRE(token);
}
/* Where threads come shuffled, each second time: others get between it and what was read before. */
void before_atomic() {
  if (ORDER > 1 && drawn() % 2) to_scheduler(self().fibre);
}
/* Two tokens in turn: who waits at the next barrier already is not ordered before who leaves this one. */
void barrier(int line) {
  size_t other = self().barriers++ % 2 ? TOKENS_B / 2 : 0;
  wait_for(AT_BARRIER, 0, the_device.tokens + other, line);
}
/* The same for a warp; where parts of it wait alone, their turns differ, so that both tokens count. */
void warp_barrier(unsigned mask, int line) {
  Device &d = the_device;
  int warp = d.current / WARP, left = d.count - warp * WARP;
  unsigned lanes = left < WARP ? (1u << left) - 1 : ~0u;
  char *one = d.tokens + 8 * (1 + warp), *other = one + TOKENS_B / 2;
  if (self().warp_barriers++ % 2) std::swap(one, other);
  d.in_parts[warp] |= (mask & lanes) != lanes;
  if (d.in_parts[warp]) CUDA_RELEASE(other);
  wait_for(AT_WARP, mask | 1u << d.current % WARP, one, line);
  if (d.in_parts[warp]) CUDA_ACQUIRE(other);
}
int counted(int predicate, int line) {
  Device &d = the_device;
  self().value = predicate != 0;
  barrier(line);
  int sum = 0;
  for (int t = 0; t < d.count; t++) sum += d.threads[t].state != DONE && d.threads[t].value;
  barrier(line);
  return sum;
}
unsigned voted(unsigned mask, int predicate, int line) {
  Device &d = the_device;
  self().value = predicate != 0;
  int first = d.current / WARP * WARP;
  warp_barrier(mask, line);
  unsigned votes = 0;
  for (int k = 0; k < WARP && first + k < d.count; k++)
    if ((mask >> k & 1) && d.threads[first + k].state != DONE && d.threads[first + k].value) votes |= 1u << k;
  warp_barrier(mask, line);
  return votes;
}
unsigned living_lanes() {
  Device &d = the_device;
  int first = d.current / WARP * WARP;
  unsigned lanes = 0;
  for (int k = 0; k < WARP && first + k < d.count; k++)
    if (d.threads[first + k].state != DONE) lanes |= 1u << k;
  return lanes;
}
unsigned long long exchanged(unsigned mask, unsigned long long mine, int lane, int line) {
  Device &d = the_device;
  int first = d.current / WARP * WARP;
  self().value = mine;
  warp_barrier(mask, line);
  bool there = first + lane < d.count && d.threads[first + lane].state != DONE;
  unsigned long long theirs = there ? d.threads[first + lane].value : mine;
  warp_barrier(mask, line);
  return theirs;
}

void *shared_bytes(const void *key, size_t bytes) {
  Device &d = the_device;
  for (int s = 0; s < d.sites_used; s++)
    if (d.sites[s].key == key) return d.sites[s].p;
  if (d.sites_used == SITES) stop("kernel %s: more than %ld shared variables", d.kernel, SITES);
  d.shared_used += bytes;
  if (d.shared_used > SHARED_B) stop("kernel %s: %ld bytes of shared memory are too many", d.kernel, long(d.shared_used));
  char *p = block_memory(bytes);
  for (size_t i = 0; i < bytes; i++) p[i] = char(FILL);
  d.sites[d.sites_used++] = {key, p};
  return p;
}
void *dynamic_shared() { return shared_bytes(&the_device.dynamic_b, the_device.dynamic_b); }
}  // namespace cuda_on_host
