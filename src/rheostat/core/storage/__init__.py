"""Files and folders: read whole and bounded, written whole or not at all, known by their kind."""
