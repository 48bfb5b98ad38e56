"""Which jobs share a node, on how many GPUs each, and when?"""
