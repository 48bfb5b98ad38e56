"""Any regressor as a model of what jobs cost: learners, embeddings, which runs it learns from."""
