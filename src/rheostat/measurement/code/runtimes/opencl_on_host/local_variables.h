/* Variables of kernels in local memory, which a group finds as nobody has set them.

   clang makes each a variable of the program that no other function can name (`kernel.variable`), so
   that the program's own symbols are read for their places. */
typedef struct { const char *kernel; size_t name_b, bytes; volatile char *at; } Local;
static struct { int are_known, count; Local all[MOST_LOCALS]; } locals;
extern const char __ehdr_start[] __attribute__((weak, visibility("hidden")));

static void learn(const char *name, volatile char *at, size_t bytes) {
  const char *kernel = strncmp(name, "rheostat_", 9) ? 0 : strchr(name + 9, '_');
  const char *end = kernel ? strchr(kernel, '.') : 0;
  if (!end) return;
  if (locals.count == MOST_LOCALS) unknown("more than %d local variables", MOST_LOCALS);
  locals.all[locals.count++] = (Local){kernel + 1, (size_t)(end - kernel) - 1, bytes, at};
}
static void learn_all(const char *file) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + head->e_shoff);
  const char *base = head->e_type == ET_DYN ? __ehdr_start : 0;
  for (int i = 0; i < head->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym *all = (const Elf64_Sym *)(file + sections[i].sh_offset);
    const char *names = file + sections[sections[i].sh_link].sh_offset;
    for (size_t k = 0; k < sections[i].sh_size / sizeof *all; k++) {
      int in = all[k].st_shndx;
      if (ELF64_ST_TYPE(all[k].st_info) == STT_OBJECT && in < head->e_shnum && sections[in].sh_flags & SHF_WRITE)
        learn(names + all[k].st_name, (volatile char *)base + all[k].st_value, all[k].st_size);
    }
  }
}
/* The file stays mapped: names are kept of it. */
static void read_symbols(void) {
  struct stat how;
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &how)) unknown("the program's own file cannot be read");
  void *at = mmap(0, (size_t)how.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (at == MAP_FAILED) unknown("the program's own file cannot be read");
  learn_all((const char *)at);
  locals.are_known = 1;
}
/* By bytes: what AddressSanitizer puts behind a variable is a part of it here, and not for memset. */
static void fill_local_variables(const Compiled *made) {
  if (!made->locals) return;
  if (!locals.are_known) read_symbols();
  for (const Local *one = locals.all; one < locals.all + locals.count; one++)
    if (strlen(made->name) == one->name_b && !strncmp(made->name, one->kernel, one->name_b))
      for (size_t i = 0; i < one->bytes; i++) one->at[i] = (char)FILL;
}
