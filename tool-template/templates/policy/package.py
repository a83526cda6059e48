"""{{ cookiecutter.description }}"""

from {{ cookiecutter.__module }}.{{ cookiecutter.__file }} import KEPT, check_permission

__all__ = ["KEPT", "check_permission"]
