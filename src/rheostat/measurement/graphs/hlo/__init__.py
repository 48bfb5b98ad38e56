"""HLO, the text that XLA writes: types, instructions, modules, costs, loops."""
