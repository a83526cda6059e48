"""{{ cookiecutter.description }}"""

from {{ cookiecutter.__module }}.{{ cookiecutter.__file }} import run

__all__ = ["run"]
