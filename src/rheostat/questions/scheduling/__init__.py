"""Jobs that wait for each other: policies, agents, shared nodes."""
