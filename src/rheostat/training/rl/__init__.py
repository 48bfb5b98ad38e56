"""Learn: an agent plays scheduling episodes and becomes a policy.

Which waiting job should come next?  Instead of writing a rule, let a neural network choose, reward
what came of it, and change the network so that good choices become likelier.  Two families stand
here.  DRAS as its authors released it, switch by switch, so that better ones can be measured
against it: `setup` holds the switches, `encode` what the agent sees, `networks` how it judges,
`train` how it learns.  A2C and PPO, whose small network goes with no machine: `actor_setup`,
`actor_net`, `rollout`, `ppo`.  A `course` says what is learned from which jobs, `objective` what
for, `search` with which settings, `judge` what came of it on jobs held out.

Needs ``pip install 'rheostat[train]'``.

References
----------
Fan, Lan, Childers, Rich, Allcock, Papka, "Deep reinforcement agent for scheduling in HPC", IPDPS
2021, and the code its authors released (branch DRAS of SPEAR-UIC/CQSim).
"""
