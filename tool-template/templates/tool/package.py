"""The {{ cookiecutter.__tool }} tool."""

from {{ cookiecutter.__module }}.{{ cookiecutter.__file }} import (
    {{ cookiecutter.__tool }},
    {{ cookiecutter.__tool }}Input,
{%- if cookiecutter.output == 'model' %}
    {{ cookiecutter.__tool }}Output,
{%- endif %}
    register_tools,
)

__all__ = [
    "{{ cookiecutter.__tool }}",
    "{{ cookiecutter.__tool }}Input",
{%- if cookiecutter.output == 'model' %}
    "{{ cookiecutter.__tool }}Output",
{%- endif %}
    "register_tools",
]
