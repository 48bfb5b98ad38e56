"""Who is answered next: an order of requests to language models, and what dispatches them in it."""
