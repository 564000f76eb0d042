"""The official client for Python. Arguments: where it is installed, our program, the calls as JSON. Prints what came of each as JSON."""

import asyncio
import json
import os
import sys

sys.path.insert(0, sys.argv[1])
from mcp import ClientSession, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402


async def main():
    server = StdioServerParameters(command=sys.argv[2], args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.list_tools()
        results = []
        for call in json.loads(sys.argv[3]):
            done = await session.call_tool(call["tool"], call["arguments"])
            results.append(done.model_dump(mode="json", by_alias=True))
        print(json.dumps(results))


asyncio.run(main())
