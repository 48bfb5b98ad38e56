/* OpenCL on a CPU, for thousands of runs of one program: the host's functions, and work-items in turn.

   Kernels are compiled beforehand and stand in a table by the text that the program builds; a text
   that is not there is written to the folder of the run, which is how the table gets to know it.
   What is not known here ends the program with UNKNOWN, so that nothing is said of it.
   Work-items of a kernel with a barrier have a stack each, the others are a loop.  Buffers are memory
   of their own, filled where nobody set them; what is mapped is a copy.
   RHEOSTAT_BACKWARD: groups and work-items from the last to the first.  RHEOSTAT_TURNS: work-items in
   drawn turns.  RHEOSTAT_WITHOUT_KERNELS: none runs.  RHEOSTAT_LATE: commands that nobody waits for are
   done when somebody waits. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { UNKNOWN = 78, MOST_ARGUMENTS = 64, MOST_ITEMS = 4096, MOST_LOCALS = 64, STACK_B = 1 << 17, EDGE_B = 128, FILL = 0xFF };
enum { PRIVATE, GLOBAL, CONSTANT, LOCAL };

/* One translation unit, so that no name but the library's meets the program's. */
#include "stacks.h"
#include "opencl_on_host/objects.h"
#include "opencl_on_host/commands.h"
#include "opencl_on_host/local_variables.h"
#include "opencl_on_host/work_items.h"
#include "opencl_on_host/device.h"
#include "opencl_on_host/queues.h"
#include "opencl_on_host/buffers.h"
#include "opencl_on_host/programs.h"
#include "opencl_on_host/kernels.h"
#include "opencl_on_host/events.h"
