"""Power that a site's monitoring has, for the many whose Slurm counts no energy."""
