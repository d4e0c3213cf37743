"""`python -m stepwell.frontends.tvm.driver.tvmc compile|run ...`."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
