/* Device memory, an arena that is closed while the host runs. */
namespace cuda_on_host {
constexpr size_t GAP_B = 256, PAGE_B = 4096;
void seen(char *p, size_t bytes, bool yes) {
  auto *change = yes ? __asan_unpoison_memory_region : __asan_poison_memory_region;
  if (change) change(p, bytes);
}
struct Memory {
  char *start;
  size_t used = 0;
  std::map<const char *, size_t> given, shared_with_host;
  std::multimap<size_t, char *> free;
  std::set<char *> registered;  /* the program's own, which it frees itself */

  Memory() {
    void *p = mmap(nullptr, ARENA_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) stop("no addresses for device memory%s");
    start = static_cast<char *>(p);
  }
  void open(bool yes) {
    size_t pages = (used + PAGE_B - 1) / PAGE_B * PAGE_B;
    if (pages) mprotect(start, pages, yes ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  bool holds(const void *p) const { return p >= start && p < start + ARENA_B; }
  static bool within(const std::map<const char *, size_t> &blocks, const void *p, size_t bytes) {
    auto block = blocks.upper_bound(static_cast<const char *>(p));
    if (block == blocks.begin()) return false;
    --block;
    return static_cast<const char *>(p) + bytes <= block->first + block->second;
  }
  static size_t room(size_t bytes) { return (bytes + 2 * GAP_B - 1) / GAP_B * GAP_B; }
  char *take(size_t bytes) {
    char *p = nullptr;
    auto again = free.find(room(bytes));
    if (again != free.end()) {
      p = again->second;
      free.erase(again);
    } else if (used + room(bytes) <= ARENA_B) {
      p = start + used;
      used += room(bytes);
    } else {
      return nullptr;
    }
    open(true);
    seen(p, room(bytes), true);
    std::memset(p, FILL, room(bytes));
    seen(p, room(bytes), false);
    seen(p, bytes, true);
    open(false);
    given[p] = bytes;
    return p;
  }
  bool give_back(char *p) {
    auto block = given.find(p);
    if (block == given.end()) return false;
    seen(p, room(block->second), false);
    free.emplace(room(block->second), p);
    given.erase(block);
    return true;
  }
};
Memory &memory() { static Memory one; return one; }
}  // namespace cuda_on_host
