#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long state;

static double uniform(void) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return (double)(state >> 11) * 0x1p-53;
}

static void report(const double *x, long n) {
  double sum = 0, weighted = 0;
  for (long i = 0; i < n; i++) {
    sum += x[i];
    weighted += x[i] * (double)(1 + i % 7);
  }
  printf("%.9g %.9g %.9g %.9g %.9g\n", sum, weighted, x[0], x[n / 3], x[n - 1]);
}

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void check(cl_int error) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "OpenCL error %d\n", error);
  exit(1);
}

static void open_device(const char *source) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  check(clGetPlatformIDs(1, &platform, NULL));
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error);
  queue = clCreateCommandQueue(context, device, 0, &error);
  check(error);
  program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  check(error);
  check(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

static cl_mem on_device(double *host, size_t count) {
  cl_int error;
  cl_mem_flags how = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
  cl_mem made = clCreateBuffer(context, how, count * sizeof *host, host, &error);
  check(error);
  return made;
}

static cl_kernel kernel_of(const char *name) {
  cl_int error;
  cl_kernel made = clCreateKernel(program, name, &error);
  check(error);
  return made;
}

static void give(cl_kernel kernel, cl_uint place, size_t size, const void *value) {
  check(clSetKernelArg(kernel, place, size, value));
}

static const char *source =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#define GROUP 64\n"
    "__kernel void inner(__global const double *x, __global const double *y, double scale,\n"
    "                  __global double *sums, long n) {\n"
    "  __local double part[GROUP];\n"
    "  size_t t = get_local_id(0);\n"
    "  double mine = 0;\n"
    "  for (long i = get_global_id(0); i < n; i += get_global_size(0)) mine += x[i] * (y[i] + scale);\n"
    "  part[t] = mine;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (size_t step = GROUP / 2; step > 0; step /= 2) {\n"
    "    if (t < step) part[t] += part[t + step];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  if (t == 0) sums[get_group_id(0)] = part[0];\n"
    "}\n";

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
  double *dots = malloc(steps * sizeof *dots);
  for (long i = 0; i < n; i++) {
    x[i] = uniform();
    y[i] = uniform() - 0.25;
  }
  double sums[16] = {0};
  open_device(source);
  cl_mem dx = on_device(x, n);
  cl_mem dy = on_device(y, n);
  cl_mem dsums = on_device(sums, 16);
  cl_kernel dot = kernel_of("inner");
  size_t whole = 16 * 64, group = 64;
  cl_long count = n;
  give(dot, 0, sizeof dx, &dx);
  give(dot, 1, sizeof dy, &dy);
  give(dot, 3, sizeof dsums, &dsums);
  give(dot, 4, sizeof count, &count);
  for (long s = 0; s < steps; s++) {
    double sum = 0, scale = 1.0 / (double)(s + 1);
    give(dot, 2, sizeof scale, &scale);
    check(clEnqueueNDRangeKernel(queue, dot, 1, NULL, &whole, &group, 0, NULL, NULL));
    check(clEnqueueReadBuffer(queue, dsums, CL_TRUE, 0, 16 * sizeof *sums, sums, 0, NULL, NULL));
    for (int g = 0; g < 16; g++) sum += sums[g];
    dots[s] = sum;
  }
  clReleaseMemObject(dx);
  clReleaseMemObject(dy);
  clReleaseMemObject(dsums);
  report(dots, steps);
  free(x);
  free(y);
  free(dots);
  return 0;
}
