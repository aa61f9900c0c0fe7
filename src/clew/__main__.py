"""Start clew: by `python -m clew`, or by the path of this file, which needs nothing on `sys.path`.

Our own processes are started by the path, in an isolated interpreter.
"""

import os
import sys

if __package__:
    # `python -m` puts the working folder first. What it has imported from there before this line is out of reach.
    if not sys.flags.safe_path and sys.path[0] == os.path.realpath("."):
        del sys.path[0]
else:
    # Import the package that this file belongs to. Its dependencies may lie beside it; all other folders come first.
    _folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, _folder)
    import clew  # noqa: F401

    del sys.path[0]
    if _folder not in sys.path:
        sys.path.append(_folder)

from clew.cli import main

sys.exit(main())
