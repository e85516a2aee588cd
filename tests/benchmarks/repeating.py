"""Large documents, made of copies of another one."""

import json
import re

_POINTERS = re.compile(r'"#/components/(\w+)/')


def repeat_document(root, copies):
    """Return a document with so many copies of another one's path items and components.

    Each copy has paths, components, references and operationIds of its own, so that everything
    grows, not the number of paths alone.
    """
    text = json.dumps(root)
    paths = {}
    components = {}
    for number in range(copies):
        copy = json.loads(_POINTERS.sub(rf'"#/components/\1/c{number}-', text))
        for path, item in copy["paths"].items():
            paths[f"/c{number}{path}"] = item
            for operation in item.values():
                if isinstance(operation, dict) and "operationId" in operation:
                    operation["operationId"] += f"_c{number}"
        for kind, parts in copy["components"].items():
            prefix = "" if kind == "securitySchemes" else f"c{number}-"  # these go by their names
            named = {f"{prefix}{name}": component for name, component in parts.items()}
            components.setdefault(kind, {}).update(named)
    return {**root, "paths": paths, "components": components}
