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
    "__kernel void multiply(__global const double *a, __global const double *b, __global double *c) {\n"
    "  size_t i = get_global_id(1), j = get_global_id(0), n = get_global_size(0);\n"
    "  double sum = 0;\n"
    "  for (size_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];\n"
    "  c[i * n + j] += sum;\n"
    "}\n";

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 20;
  long steps = argc > 2 ? atol(argv[2]) : 2;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b);
  double *c = calloc(n * n, sizeof *c);
  for (long i = 0; i < n * n; i++) {
    a[i] = uniform();
    b[i] = uniform();
  }
  open_device(source);
  cl_mem da = on_device(a, n * n);
  cl_mem db = on_device(b, n * n);
  cl_mem dc = on_device(c, n * n);
  cl_kernel multiply = kernel_of("multiply");
  size_t whole[2] = {(size_t)n, (size_t)n};
  give(multiply, 0, sizeof da, &da);
  give(multiply, 1, sizeof db, &db);
  give(multiply, 2, sizeof dc, &dc);
  for (long s = 0; s < steps; s++) {
    check(clEnqueueNDRangeKernel(queue, multiply, 2, NULL, whole, NULL, 0, NULL, NULL));
  }
  check(clEnqueueReadBuffer(queue, dc, CL_TRUE, 0, n * n * sizeof *c, c, 0, NULL, NULL));
  clReleaseMemObject(da);
  clReleaseMemObject(db);
  clReleaseMemObject(dc);
  report(c, n * n);
  free(a);
  free(b);
  free(c);
  return 0;
}
