"""An activity of Temporal that may be tried again, and whose write is sent once.

`python temporal_agent.py URL`: the worker; the FastAPI application at URL has the operation
`add_order`, which takes `pet` and recognises a repeated `Idempotency-Key`.
"""

import asyncio
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from openapi_tools import Context, aload_tools


@activity.defn
async def call(url: str, name: str, arguments: dict) -> object:
    info = activity.info()
    context = Context(idempotency_key=f"{info.workflow_id}/{info.activity_id}")
    async with await aload_tools(url, idempotency_header="Idempotency-Key") as toolset:
        return (await toolset.call(name, arguments, context=context)).output


@workflow.defn
class Agent:
    @workflow.run
    async def run(self, url: str, pet: str) -> object:
        given = [f"{url}/openapi.json", "add_order", {"pet": pet}]
        limit = timedelta(seconds=30)
        return await workflow.execute_activity(call, args=given, start_to_close_timeout=limit)


async def main() -> None:
    client = await Client.connect("localhost:7233")
    where = {"id": "order-1", "task_queue": "pets"}
    async with Worker(client, task_queue="pets", workflows=[Agent], activities=[call]):
        print(await client.execute_workflow(Agent.run, args=[sys.argv[1], "Rex"], **where))


if __name__ == "__main__":
    asyncio.run(main())
