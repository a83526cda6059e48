"""{{ cookiecutter.description }}"""

from {{ cookiecutter.__module }}.{{ cookiecutter.__file }} import {{ cookiecutter.__tool }}, register_providers

__all__ = ["{{ cookiecutter.__tool }}", "register_providers"]
