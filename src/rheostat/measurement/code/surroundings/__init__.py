"""What a program may go by beside its inputs: libraries, compilers, clocks, addresses."""
