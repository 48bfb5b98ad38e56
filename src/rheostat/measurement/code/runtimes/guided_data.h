/* Data that a guided search makes, as fuzzers do: the stream of what a program draws is what is changed.
   A stream is kept where the run shows something new: an outcome of a comparison, two numbers nearer
   to each other than before, a longer streak, a greater index, two stores to one place.  All runs
   share a file, which holds streams and, of each run, of which stream and by which number it was made:
   another program makes the same of it.  One thread draws. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DRAWS = 4096, STREAMS = 1024, RUNS = 1 << 14, ENTRIES = 1 << 18, SEEN_B = 1 << 16, SITES = 1024, CELLS = 1 << 16 };
enum { GROUPS = 8, NAMED = 1024, MOST_CHANGES = 6, NATURAL = 8, TURNS = 32, EQUAL_TOO = 8, MOST_TAKEN = 32 };
typedef unsigned long Whole;
/* Of one that is inert the next draw is a part. */
typedef struct { Whole value, greatest, inert; } Draw;
typedef struct { int from, count, group, shared; } Stream;
typedef struct { int parent, other, named, unchanged; Whole seed, apart; } Recipe;
/* By how much two numbers differ that are compared, how often they were, in which stream, and how often
   it was taken. */
typedef struct { Whole by; unsigned times; int stream, taken, rest; } Apart;
typedef struct {
  int streams, entries, named, drew, sites, rest;
  Stream stream[STREAMS];
  Recipe recipe[RUNS];
  Whole name[NAMED];
  int chosen[DRAWS];
  Draw now[DRAWS], plan[DRAWS], entry[ENTRIES];
  unsigned char seen[SEEN_B];
  Apart apart[GROUPS][SITES][2][2]; /* less and greater; the nearest and any */
} Guided;
static Guided *guided;
static int guided_run, guided_at, guided_new, guided_count, guided_searches, guided_named, guided_shares;
static Whole guided_random;
static Apart guided_apart[SITES][2][2];

static void guided_share(int argc, char **argv, char **environment) {
  const char *folder = 0, *kind = 0;
  char path[4096];
  (void)argc, (void)argv;
  for (char **e = environment; *e; e++) {
    if (!strncmp(*e, "XDG_CACHE_HOME=", 15)) folder = *e + 15;
    if (!strncmp(*e, "RHEOSTAT_DATA=", 14)) kind = *e + 14;
  }
  if (!folder || !kind || atoi(kind) != GUIDED) return;
  snprintf(path, sizeof path, "%s/guided", folder);
  int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (file < 0 || ftruncate(file, sizeof *guided)) return;
  void *made = mmap(0, sizeof *guided, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (made != MAP_FAILED) guided = (Guided *)made;
  close(file);
}
__attribute__((section(".preinit_array"), used)) static void (*const guided_first)(int, char **, char **) = guided_share;

static Whole chance(Whole below) {
  guided_random ^= guided_random << 13, guided_random ^= guided_random >> 7, guided_random ^= guided_random << 17;
  return (guided_random >> 11) % below;
}
/* Small ones are as likely as great ones. */
static Whole any_size(Whole most) {
  int bits = 64 - __builtin_clzl(most | 1);
  return chance(1ul << chance((Whole)bits)) % most + 1;
}
static Whole within(Whole v, Whole greatest) { return v <= greatest ? v : v % (greatest + 1); }

static Whole mixed(Whole what) { return (what + 1) * 11400714819323198485ul >> 45; }
static unsigned char *seen_at(Whole what) { return guided->seen + (mixed(what) >> 3) % SEEN_B; }
static unsigned char seen_bit(Whole what) { return (unsigned char)(1 << (mixed(what) & 7)); }
static int sees(Whole what) { return *seen_at(what) & seen_bit(what); }
static Whole site(int n, int kind) { return (Whole)n << 24 | (Whole)kind << 16; }

static const Draw *some_draw(void) {
  const Draw *one = guided->plan + chance((Whole)guided_count);
  for (int tries = 0; tries < 16 && one->inert; tries++) one = guided->plan + chance((Whole)guided_count);
  return one;
}

/* One that stands in the stream, that the program compares with, an end, or any. */
static Whole some_value(Whole greatest) {
  Whole part = greatest >> chance(64 - (Whole)__builtin_clzl(greatest | 1));
  switch (chance(10)) {
    case 0: return 0;
    case 1: return greatest;
    case 2: return within(greatest - chance(4), greatest);
    case 3: return within(chance(4), greatest);
    case 4:
      if (guided_named) return within(guided->name[chance((Whole)guided_named)] + chance(3) - 1, greatest);
      return greatest / 2;
    case 5: return greatest == ~0ul ? guided_random : chance(greatest + 1);
    case 6: return part;
    case 7: return greatest - part;
    default: return within(some_draw()->value, greatest);
  }
}

/* Places of what can be as great, all or some in a row, each or each second and so on. */
static int choose(Whole greatest, int one) {
  int *at = guided->chosen, many = 0, kept = 0;
  for (int i = 0; i < guided_count; i++)
    if (guided->plan[i].greatest == greatest && !guided->plan[i].inert) at[many++] = i;
  int whole = !chance(4), step = chance(3) ? 1 : 2 + (int)chance(7);
  int size = one ? 1 : whole ? many : (int)any_size((Whole)many), from = (int)chance((Whole)many);
  if (whole && !one) from = (int)chance((Whole)step);
  for (int i = from; i < many && kept < size; i += step) at[kept++] = at[i];
  return kept;
}

static void change_chosen(int count, Whole greatest) {
  Draw *plan = guided->plan;
  const int *at = guided->chosen;
  static const unsigned char of_one[] = {0, 5, 5, 9};
  Whole kind = count > 1 ? chance(10) : of_one[chance(4)], some[4], few = 1 + chance(4), low = some_value(greatest), wide = 1ul << chance(13);
  for (int i = 0; i < 4; i++) some[i] = some_value(greatest);
  Whole step = any_size(greatest / (Whole)count + 1), delta = chance(2) ? chance(3) - 1 : any_size(greatest / 4 + 1);
  if (chance(2)) delta = -delta;
  int shift = 1 + (int)chance((Whole)guided_count);
  for (int i = 0; i < count; i++) {
    Draw *d = plan + at[i], *far = plan + (at[i] + shift) % guided_count;
    Whole v = d->value;
    switch (kind) {
      case 0: d->value = some[0]; break;
      case 1: d->value = some[chance(few)]; break;
      case 2: d->value = within(low + chance(wide), greatest); break;
      case 3: d->value = within(low + step * (Whole)i, greatest); break;
      case 4: d->value = within(low - step * (Whole)i, greatest); break;
      case 5: d->value = v + delta <= greatest ? v + delta : v; break;
      case 6: d->value = some_value(greatest); break;
      case 7: d->value = greatest == ~0ul ? guided_random : chance(greatest + 1); break;
      case 8: d->value = chance(8) ? greatest - chance(greatest / 16 + 1) : chance(greatest / 2 + 1); break;
      default: d->value = within(far->value, greatest), far->value = within(v, far->greatest);
    }
  }
}

/* A block onto another, as records are drawn: with what each draw of it can be. */
static void repeat_block(void) {
  Draw *plan = guided->plan;
  int size = (int)any_size((Whole)guided_count), many = 1 + (int)chance(4) * (int)chance(8);
  int from = (int)chance((Whole)guided_count), to = (int)chance((Whole)guided_count);
  for (int i = 0; i < size * many && to + i < guided_count && from + i % size < guided_count; i++)
    plan[to + i].value = within(plan[from + i % size].value, plan[to + i].greatest);
}

/* What two numbers differed by is put onto one draw or taken from it, so that a sum of draws comes just to
   what it is compared with, of a million values, or next to it. */
static void make_equal(Whole apart) {
  if (!chance(4)) apart += chance(2) * 2 - 1;
  for (int turn = 0; turn < TURNS; turn++) {
    Draw *d = guided->plan + chance((Whole)guided_count);
    Whole made = chance(2) ? d->value + apart : d->value - apart;
    if (d->inert || made > d->greatest) continue;
    d->value = made;
    return;
  }
}

static void take_stream(int which, int from) {
  const Stream *s = guided->stream + which;
  for (int i = from; i < s->count; i++) guided->plan[i] = guided->entry[s->from + i];
  if (s->count > guided_count) guided_count = s->count;
}

static int some_stream(int group) {
  int at = 0;
  for (int tries = 0; tries < 16; tries++) {
    Whole back = chance(3) ? chance((Whole)guided->streams) : any_size((Whole)guided->streams) - 1;
    at = guided->streams - 1 - (int)back;
    if (guided->stream[at].group == group) break;
  }
  return at;
}

/* One of a place where none were equal yet, and seldom of another. */
static Apart *some_apart(int group) {
  for (int turn = 0; turn < TURNS * TURNS && guided->sites; turn++) {
    Whole n = 1 + chance((Whole)guided->sites);
    Apart *one = &guided->apart[group][n][chance(2)][chance(2)];
    if (one->times && one->taken < MOST_TAKEN && (!sees(site((int)n, 1) | 1 << 8) || !chance(EQUAL_TOO))) return one;
  }
  return 0;
}

/* What the run draws, planned ahead; the first runs of a search draw as they do. */
static void guided_begin(void) {
  const char *said = getenv("RHEOSTAT_RUN"), *seed = getenv("RHEOSTAT_SEED");
  guided_run = said ? atoi(said) - 1 : 0;
  if (!guided || guided_run < 0 || guided_run >= RUNS) return;
  Recipe *r = guided->recipe + guided_run;
  guided_searches = !r->seed;
  if (guided_searches) {
    guided_random = ((Whole)(guided_run + 1) ^ (seed ? strtoul(seed, 0, 10) << 20 : 0)) * 11400714819323198485ul | 1;
    for (int i = 0; i < 4; i++) chance(2);
    *r = (Recipe){-1, -1, guided->named, 0, 0, 0};
    Apart *apart = guided_run >= NATURAL && chance(2) ? some_apart(guided_run % GROUPS) : 0;
    if (apart) {
      r->parent = apart->stream;
      r->apart = apart->by;
      apart->taken++;
    } else if (guided_run >= NATURAL && guided->streams) {
      r->parent = some_stream(guided_run % GROUPS);
      r->other = chance(6) ? -1 : some_stream(guided_run % GROUPS);
    }
    r->seed = guided_random | 1;
  }
  guided_random = r->seed;
  guided_named = r->named;
  if (r->parent < 0) return;
  take_stream(r->parent, 0);
  if (!guided_count) return;
  if (r->other >= 0) take_stream(r->other, (int)chance((Whole)guided_count));
  if (r->apart) {
    make_equal(r->apart);
    return;
  }
  for (int changes = r->unchanged ? 0 : 1 + (int)chance(chance(2) ? 2 : MOST_CHANGES); changes; changes--) {
    const Draw *one = some_draw();
    Whole greatest = one->greatest;
    if (!chance(6) || one->inert) repeat_block();
    else change_chosen(choose(greatest, chance(2) != 0), greatest);
  }
}

static Whole guided_draw(Whole v, Whole greatest) {
  int i = guided_at++;
  if (!guided || i >= DRAWS) return v;
  Whole made = i < guided_count ? within(guided->plan[i].value, greatest) : v;
  Draw *last = guided->now + i - 1;
  if (i && last->greatest > greatest && within(last->value, greatest) == v) last->inert = 1;
  guided->now[i] = (Draw){made, greatest, 0};
  return made;
}

static Whole far_of(Apart one, int greater) { return greater ? -one.by : one.by; }
static void note_apart(int n, Whole by, int greater) {
  Apart *known = guided_apart[n][greater], one = {by, ++known[1].times, 0, 0, 0};
  if (one.times == 1 || far_of(one, greater) < far_of(known[0], greater)) known[0] = one;
  if (!chance(one.times)) known[1] = one;
}
/* Of a run whose stream is kept. */
static void keep_aparts(int group, int stream) {
  for (int n = 1; n < SITES; n++)
    for (int greater = 0; greater < 2; greater++) {
      Apart *made = guided_apart[n][greater], *known = guided->apart[group][n][greater];
      if (!made->times) continue;
      if (n > guided->sites) guided->sites = n;
      made[0].stream = made[1].stream = stream;
      if (!known->times || far_of(made[0], greater) < far_of(known[0], greater)) known[0] = made[0];
      known[1] = made[1];
    }
}

/* What showed something new is kept. */
static void guided_end(void) {
  int count = guided_at < DRAWS ? guided_at : DRAWS;
  if (guided) guided->drew = count;
  if (!guided || !guided_searches || !(guided_new || guided_run < NATURAL) || !count) return;
  if (guided->streams == STREAMS || guided->entries + count > ENTRIES) return;
  memcpy(guided->entry + guided->entries, guided->now, (size_t)count * sizeof(Draw));
  guided->stream[guided->streams++] = (Stream){guided->entries, count, guided_run % GROUPS, guided_shares};
  guided->entries += count;
  keep_aparts(guided_run % GROUPS, guided->streams - 1);
}

static int shows(Whole what) {
  if (sees(what)) return 0;
  *seen_at(what) |= seen_bit(what);
  return guided_new = 1;
}
/* Four steps from each power of two to the next; each number up to 32. */
static Whole size_of(Whole v) {
  if (v < 32) return v;
  int bits = 63 - __builtin_clzl(v);
  return (Whole)bits * 4 + (v >> (bits - 2) & 3) + 12;
}

/* A comparison: its outcome, how near the two are, how long it comes out the same way. */
void rheostat_way(int n, long a, long b) {
  static struct { unsigned streak, last, times[3]; } known[SITES];
  static Whole before;
  if (!guided || n >= SITES) return;
  unsigned way = a < b ? 0 : a == b ? 1 : 2, times = ++known[n].times[way];
  Whole far = a < b ? (Whole)b - (Whole)a : (Whole)a - (Whole)b;
  known[n].streak = known[n].last == way ? known[n].streak + 1 : 1;
  known[n].last = way;
  int news = shows(site(n, 1) | way << 8 | size_of(far));
  news |= shows(site(n, 2) | way << 8 | size_of(known[n].streak));
  if (!(times & (times - 1))) news |= shows(site(n, 3) | way << 8 | size_of(times));
  shows(before * 31 + site(n, 4) + way);
  before = site(n, 5) | way;
  if (news && a != b && guided->named < NAMED) guided->name[guided->named++] = (Whole)b;
  if (a != b && guided_searches) note_apart(n, (Whole)b - (Whole)a, a > b);
}
void rheostat_way_real(int n, double a, double b) {
  long bits[2];
  double two[2] = {a, b};
  memcpy(bits, two, sizeof bits);
  for (int i = 0; i < 2; i++) bits[i] = bits[i] < 0 ? (long)(1ul << 63) - bits[i] : bits[i];
  rheostat_way(n, bits[0], bits[1]);
}
/* How great an index comes, and the bits that two numbers share that are put together by `or`. */
void rheostat_size(int n, long v) {
  if (guided) shows(site(n, 6) | (v < 0) << 9 | size_of(v < 0 ? -(Whole)v : (Whole)v));
}
/* How often one place is written to. */
void rheostat_store(int n, void *place) {
  static unsigned char times[CELLS];
  if (!guided) return;
  Whole cell = ((Whole)place >> 2) * 11400714819323198485ul >> 48;
  unsigned char many = ++times[cell % CELLS];
  if (!(many & (many - 1)) && shows(site(n, 7) | many) && many > 1) guided_shares = 1;
}
