"""Applications on a shared network: read a simulated run, forecast its iterations."""
