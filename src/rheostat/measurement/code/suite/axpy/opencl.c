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
    "__kernel void axpy(double a, __global const double *x, __global double *y) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] = a * x[i] + y[i];\n"
    "}\n";

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
  for (long i = 0; i < n; i++) {
    x[i] = uniform();
    y[i] = uniform();
  }
  open_device(source);
  cl_mem dx = on_device(x, n);
  cl_mem dy = on_device(y, n);
  cl_kernel axpy = kernel_of("axpy");
  size_t whole = (size_t)n;
  give(axpy, 1, sizeof dx, &dx);
  give(axpy, 2, sizeof dy, &dy);
  for (long s = 0; s < steps; s++) {
    double a = 0.5 / (double)(s + 1);
    give(axpy, 0, sizeof a, &a);
    check(clEnqueueNDRangeKernel(queue, axpy, 1, NULL, &whole, NULL, 0, NULL, NULL));
  }
  check(clEnqueueReadBuffer(queue, dy, CL_TRUE, 0, n * sizeof *y, y, 0, NULL, NULL));
  clReleaseMemObject(dx);
  clReleaseMemObject(dy);
  report(y, n);
  free(x);
  free(y);
  return 0;
}
