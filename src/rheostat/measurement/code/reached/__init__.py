"""What no input reached: LLVM's text with marks, and what the marks leave open."""
