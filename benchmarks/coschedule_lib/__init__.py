"""The released logs of the co-scheduling policies, and their replay."""
