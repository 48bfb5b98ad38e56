"""Learn: an agent plays scheduling games and becomes a policy (DRAS).

Which waiting job should come next?  Instead of writing a rule, let a neural network choose, reward
what came of it, and change the network so that good choices become likelier.  What stands here is
the agent of DRAS as its authors released it, switch by switch, so that better ones can be measured
against it: `setup` holds the switches, `encode` what the agent sees, `networks` how it judges,
`train` how it learns.

Needs ``pip install 'rheostat[deep]'``.

References
----------
Fan, Lan, Childers, Rich, Allcock, Papka, "Deep reinforcement agent for scheduling in HPC", IPDPS
2021, and the code its authors released (branch DRAS of SPEAR-UIC/CQSim).
"""
