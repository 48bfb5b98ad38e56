/* A group of work-items: those of a kernel with a barrier take turns, others are a loop.
   With RHEOSTAT_TURNS all take turns, also before atomics, and who comes next is drawn. */
typedef struct { Stack stack; int is_done; unsigned barriers; } Item;
static struct {
  unsigned dimensions;
  size_t offset[3], size[3], group[3], count[3], block[3], item[3];
} here;
static struct {
  Item *items;
  char *stacks;
  Stack scheduler;
  size_t made, count, current, left, waiting;
  unsigned passed; /* barriers */
  int backward;
  unsigned long long draws;
  void **arguments;
  void (*call)(void **);
} turn;

size_t get_global_id_(unsigned d) __asm__("_Z13get_global_idj");
size_t get_local_id_(unsigned d) __asm__("_Z12get_local_idj");
size_t get_group_id_(unsigned d) __asm__("_Z12get_group_idj");
size_t get_global_size_(unsigned d) __asm__("_Z15get_global_sizej");
size_t get_local_size_(unsigned d) __asm__("_Z14get_local_sizej");
size_t get_enqueued_local_size_(unsigned d) __asm__("_Z23get_enqueued_local_sizej");
size_t get_num_groups_(unsigned d) __asm__("_Z14get_num_groupsj");
size_t get_global_offset_(unsigned d) __asm__("_Z17get_global_offsetj");
unsigned get_work_dim_(void) __asm__("_Z12get_work_dimv");
void barrier_(unsigned fence) __asm__("_Z7barrierj");
size_t get_global_id_(unsigned d) { return d < 3 ? here.offset[d] + here.block[d] * here.group[d] + here.item[d] : 0; }
size_t get_local_id_(unsigned d) { return d < 3 ? here.item[d] : 0; }
size_t get_group_id_(unsigned d) { return d < 3 ? here.block[d] : 0; }
size_t get_global_size_(unsigned d) { return d < 3 ? here.size[d] : 1; }
size_t get_local_size_(unsigned d) { return d < 3 ? here.group[d] : 1; }
size_t get_enqueued_local_size_(unsigned d) { return get_local_size_(d); }
size_t get_num_groups_(unsigned d) { return d < 3 ? here.count[d] : 1; }
size_t get_global_offset_(unsigned d) { return d < 3 ? here.offset[d] : 0; }
unsigned get_work_dim_(void) { return here.dimensions; }

static void become(size_t number) {
  here.item[0] = number, here.item[1] = here.item[2] = 0;
  if (here.group[1] * here.group[2] == 1) return;
  here.item[0] = number % here.group[0];
  here.item[1] = number / here.group[0] % here.group[1];
  here.item[2] = number / here.group[0] / here.group[1];
}
static unsigned long long drawn(void) {
  turn.draws ^= turn.draws << 13, turn.draws ^= turn.draws >> 7, turn.draws ^= turn.draws << 17;
  return turn.draws >> 20;
}
/* The work-item behind the last one, from the first again behind the last, that is not done and may
   pass its barrier. */
static Item *next_item(void) {
  Item *one;
  if (turn.draws) turn.current = drawn() % turn.count;
  do {
    turn.current += turn.backward ? turn.count - 1 : 1;
    if (turn.current >= turn.count) turn.current -= turn.count;
    one = turn.items + turn.current;
  } while (one->is_done || one->barriers != turn.passed);
  become(turn.current);
  return one;
}
static void let_pass(void) {
  if (turn.waiting == turn.left) turn.passed++, turn.waiting = 0;
}
static void take_turn(void) {
  Item *one = turn.items + turn.current, *next = next_item();
  if (next != one) change_stacks(&one->stack, &next->stack);
}
void barrier_(unsigned fence) {
  (void)fence;
  turn.items[turn.current].barriers++, turn.waiting++;
  let_pass();
  take_turn();
}
/* Before an atomic, each second time: others get between it and what was read before. */
void rheostat_before_atomic(void) {
  if (turn.draws && drawn() % 2) take_turn();
}
static void live(void) {
  for (;;) {
    turn.call(turn.arguments);
    Item *one = turn.items + turn.current;
    one->is_done = 1, turn.left--; /* and waits for the next group's turn */
    let_pass();
    change_stacks(&one->stack, turn.left ? &next_item()->stack : &turn.scheduler);
  }
}
static void ready(size_t count) {
  if (!turn.items) {
    void *at = mmap(0, (size_t)MOST_ITEMS * STACK_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    turn.items = (Item *)mmap(0, MOST_ITEMS * sizeof(Item), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || turn.items == MAP_FAILED) unknown("no memory for work-items");
    turn.stacks = (char *)at;
  }
  for (; turn.made < count; turn.made++) begin_stack(&turn.items[turn.made].stack, turn.stacks + turn.made * STACK_B, STACK_B, live);
}
static void run_in_turns(size_t count, int backward) {
  ready(count);
  for (size_t i = 0; i < count; i++) turn.items[i].is_done = 0, turn.items[i].barriers = 0;
  turn.left = turn.count = count, turn.waiting = 0, turn.passed = 0, turn.backward = backward;
  turn.current = backward ? 0 : count - 1; /* so that the first is next */
  change_stacks(&turn.scheduler, &next_item()->stack);
}
static void run_group(const Compiled *made, void **arguments, int backward) {
  size_t count = here.group[0] * here.group[1] * here.group[2];
  turn.call = made->call, turn.arguments = arguments;
  if (made->waits || turn.draws) {
    run_in_turns(count, backward);
    return;
  }
  for (size_t k = 0; k < count; k++) {
    become(backward ? count - 1 - k : k);
    made->call(arguments);
  }
}
static void run_kernel(Command *c) {
  const Compiled *made = c->kernel->made;
  void *places[MOST_ARGUMENTS], *values[MOST_ARGUMENTS];
  if (getenv("RHEOSTAT_WITHOUT_KERNELS")) return;
  int backward = getenv("RHEOSTAT_BACKWARD") != 0;
  if (getenv("RHEOSTAT_TURNS") && !turn.draws) turn.draws = 88172645463325252ULL;
  for (int i = 0; i < made->count; i++) {
    Argument *a = c->given + i;
    places[i] = made->spaces[i] == PRIVATE ? (void *)a->value : (void *)(values + i);
    values[i] = made->spaces[i] == LOCAL ? (void *)malloc(a->bytes) : a->buffer ? (void *)(a->buffer->at) : 0;
  }
  size_t groups = 1;
  here.dimensions = c->dimensions;
  for (int d = 0; d < 3; d++) {
    here.offset[d] = c->offset[d], here.size[d] = c->size[d], here.group[d] = c->group[d];
    groups *= here.count[d] = c->size[d] / c->group[d];
  }
  for (size_t k = 0; k < groups; k++) {
    size_t number = backward ? groups - 1 - k : k;
    here.block[0] = number % here.count[0];
    here.block[1] = number / here.count[0] % here.count[1];
    here.block[2] = number / here.count[0] / here.count[1];
    for (int i = 0; i < made->count; i++)
      if (made->spaces[i] == LOCAL) memset(values[i], FILL, c->given[i].bytes);
    fill_local_variables(made);
    run_group(made, places, backward);
  }
  for (int i = 0; i < made->count; i++) {
    if (made->spaces[i] == LOCAL) free(values[i]);
    else if (made->spaces[i] == PRIVATE) free(c->given[i].value);
  }
}
