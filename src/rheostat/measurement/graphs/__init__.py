"""Graphs of operations: read from HLO, JAX, PyTorch and ONNX."""
