"""Commands for a trace and for shared nodes."""
