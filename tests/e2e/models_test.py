#!/usr/bin/env python3
"""Real models, four ways, by tests/models/matrix: evaluator, simulator, athread C under the shim, x86 natively."""
import subprocess
import sys

from support import BIN, ROOT, SHARED

MODELS = """digits mnist_cntk mnist_torch_dynamo mtcnn_onet go1_policy wakeword_alfred ultraface_rfb320 ultraface_rfb320_simplified
autoencoder1d tinyvit_demo gemm_512 inception_block""".split()


def main():
    names = MODELS
    if not (SHARED / "models").exists():
        print(f"no {SHARED / 'models'} (DLCC_SHARED names the folder): digits only")
        names = ["digits"]
    return subprocess.run([sys.executable, ROOT / "tests" / "models" / "matrix", "--bin", BIN, *names]).returncode


if __name__ == "__main__":
    sys.exit(main())
