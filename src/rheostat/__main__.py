"""``python -m rheostat`` is the command ``rheostat``."""

from rheostat.cli import main

if __name__ == "__main__":
    main()
