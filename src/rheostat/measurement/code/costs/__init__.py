"""What a run costs: time in turns, instructions, operations, modelled energy."""
