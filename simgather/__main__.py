"""``python -m simgather``."""

import sys

from simgather.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
