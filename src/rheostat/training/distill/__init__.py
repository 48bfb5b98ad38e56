"""Imitate: a tree that people can read learns to decide as a scheduler that they cannot.

A learned scheduler is a network of numbers; nobody runs a machine by what nobody understands.  So a
tree of a few questions is shown the decisions of a teacher - a network, or any rule - and copies
them; then it schedules by itself, the teacher says what it would have done where the tree has come
to, and the tree learns again (DAgger).  How far it can be trusted is measured: how often it decides
as its teacher, what the differences cost, and where it has never been.

`states` are decisions, `fit` and `grow` make trees of them, `dagger` repeats, `fidelity` measures.

References
----------
Ross, Gordon, Bagnell, "A reduction of imitation learning and structured prediction to no-regret
online learning", AISTATS 2011 (DAgger).  Li, Lan, Papka, "Interpretable modeling of deep
reinforcement learning driven scheduling", MASCOTS 2023 (IRL).  Bastani, Pu, Solar-Lezama,
"Verifiable reinforcement learning via policy extraction", NeurIPS 2018 (VIPER).
"""
