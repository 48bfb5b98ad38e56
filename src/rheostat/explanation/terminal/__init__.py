"""What a terminal shows while a question is worked on, on stderr."""
