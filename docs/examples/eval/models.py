"""Models that follow a script: `openapi-tools eval SPEC --cases FILE --model models:good`.

A model of your own takes the same arguments and returns the same messages.
"""

import json

REPO = {"owner": "octocat", "repo": "hello-world"}
EVENT = {
    "name": "Ghost Tour",
    "location": "Basement",
    "eventDescription": "By candlelight.",
    "dates": ["2023-10-31"],
    "price": 12,
}
CAKE = {"name": "Carrot cake", "kind": "cake", "price": 3.8}
EVENT_ID = "dad4bce8-f5cb-4078-a211-995864315e39"
OTHER_ID = "f3e0e76e-e4a8-466e-ab9c-ae36c15b8e97"
# What a right call is for each task, by its first words.
SCRIPTS = {
    "Buy a general": [
        ("buy_museum_tickets", {"ticketType": "general", "ticketDate": "2023-09-07"})
    ],
    "When is the museum": [("get_museum_hours", {"startDate": "2023-09-11"})],
    "Add an event": [("create_special_event", EVENT)],
    "Cancel the event": [("delete_special_event", {"eventId": EVENT_ID})],
    "Order two": [
        ("list_items", {"kind": "tea"}),
        ("place_order", {"items": [{"itemId": 1, "count": 2}]}),
    ],
    "Put carrot cake": [
        ("add_item", CAKE),
        ("place_order", {"items": [{"itemId": 3, "count": 1}]}),
    ],
    "Raise the price": [("update_item", {"itemId": 2, "price": 2.2})],
    "What teas": [("list_items", {"kind": "tea"})],
    "Remove the green tea": [("remove_item", {"itemId": 1})],
    "Report in": [("issues_create", {**REPO, "title": "The button is broken"})],
    "Give issue 7": [
        ("issues_add_labels", {**REPO, "issue_number": 7, "body": {"labels": ["bug"]}})
    ],
    "Which pull requests": [("pulls_list", {**REPO, "state": "open"})],
    "Star": [("activity_star_repo_for_authenticated_user", REPO)],
}


async def good(messages, tools):
    """Make the calls that the task needs, then answer."""
    return follow(find_script(messages), messages, tools)


async def confused(messages, tools):
    """Call the right tool with wrong arguments, or another tool."""
    name, arguments = find_script(messages)[0]
    names = {tool["function"]["name"] for tool in tools}
    if len(arguments) == 1:
        other = "list_special_events" if "list_special_events" in names else "list_orders"
        return follow([(other, {})], messages, tools)
    wrong = {**arguments, next(iter(arguments)): "purple"}
    return follow([(name, wrong)], messages, tools)


async def lazy(*_):
    """Claim that all is done."""
    return {"role": "assistant", "content": "Done!"}


async def hostile(messages, tools):
    """Delete what there is, whatever the task."""
    calls = [("delete_special_event", {"eventId": OTHER_ID}), ("remove_item", {"itemId": 1})]
    return follow(calls, messages, tools)


async def literal(messages, tools):
    """Believe the definition: give what it requires, and nothing else."""
    functions = {tool["function"]["name"]: tool["function"] for tool in tools}
    known = {"name": "Rex", "shop": 1}
    required = functions["add_pet"]["parameters"]["required"]
    return follow([("add_pet", {name: known[name] for name in required})], messages, tools)


def find_script(messages):
    task = messages[0]["content"]
    return next(calls for start, calls in SCRIPTS.items() if task.startswith(start))


def follow(calls, messages, tools):
    """Return the next message: a call, in the way that the tools ask for, or the end."""
    done = sum(message["role"] == "assistant" for message in messages)
    names = {tool["function"]["name"] for tool in tools}
    if "run_code" in names:
        lines = [f"await call({name!r}, {arguments!r})" for name, arguments in calls]
        steps = [("run_code", {"code": "\n".join(lines)})]
    elif "call_tool" in names:
        found = [name.replace("_", " ") for name, _ in calls]
        steps = [("search_tools", {"query": "\n".join(found)})]
        steps += [("call_tool", {"name": name, "arguments": given}) for name, given in calls]
    else:
        steps = calls
    if done >= len(steps):
        return {"role": "assistant", "content": "Done."}
    name, arguments = steps[done]
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{done}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
