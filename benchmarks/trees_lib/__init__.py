"""Parts of `learned_trees`: published students, our own, exports, the reward audit."""
