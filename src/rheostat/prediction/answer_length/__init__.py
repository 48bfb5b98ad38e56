"""How long the answer to a prompt will be, and what that costs a server."""
