"""Texts of programs and of compilers: parsed, matched in linear time, compared."""
