"""What torch.compile leaves alone."""

import subprocess
import sys


def test_a_marked_function_is_not_compiled_and_does_not_load_the_compiler() -> None:
    """In a process of its own, where no checker of shapes stands in the compiler's way."""
    code = (
        "import sys, torch\n"
        "from acid_causal.model.compilation import compile_module, uncompiled\n"
        "seen = []\n"
        "@uncompiled\n"
        "def double(x):\n"
        "    seen.append(torch.compiler.is_compiling())\n"
        "    return 2 * x\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return double(x)\n"
        "assert double(torch.ones(2)).tolist() == [2, 2]\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "compiled = compile_module(Model())\n"
        "assert 'torch._dynamo' in sys.modules\n"
        "assert compiled(torch.ones(3)).tolist() == [2, 2, 2]\n"
        "assert seen == [False, False], seen\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
