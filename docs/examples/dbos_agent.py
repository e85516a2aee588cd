"""A step of a durable workflow (DBOS) that may run again, and whose write is sent once.

`python dbos_agent.py URL ORDER`: the FastAPI application at URL has the operation `add_order`,
which takes `pet` and recognises a repeated `Idempotency-Key`.
"""

import asyncio
import sys

from dbos import DBOS, SetWorkflowID

from openapi_tools import Context, load_tools

url, order = sys.argv[1:3]
toolset = load_tools(f"{url}/openapi.json", idempotency_header="Idempotency-Key")
DBOS(config={"name": "pet-agent", "system_database_url": "sqlite:///agent.sqlite"})


@DBOS.step()
async def call(name: str, arguments: dict) -> object:
    context = Context(idempotency_key=f"{DBOS.workflow_id}/{DBOS.step_id}")
    return (await toolset.call(name, arguments, context=context)).output


@DBOS.workflow()
async def agent(pet: str) -> object:
    return await call("add_order", {"pet": pet})


async def main() -> None:
    with SetWorkflowID(order):
        print(await agent("Rex"))


if __name__ == "__main__":
    DBOS.launch()
    asyncio.run(main())
    DBOS.destroy()
