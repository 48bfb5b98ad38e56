"""Kernels of OpenCL and CUDA: how they run without a GPU, and what their text leaves open."""
