{% include cookiecutter.kind ~ "/package.py" -%}
