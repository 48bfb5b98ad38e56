"""Words for choices: one job, many jobs, caps and budgets."""
