"""The person's browser, as a program that clients start through $BROWSER or xdg-open: goes to a URL in headless
Chromium, allows what is asked, and stays until it is back at the client. MATRIX_COOKIES are those of the person."""

import asyncio
import os
import sys

from tests.support.chromium import chromium

SECONDS = 60_000


async def main(url: str) -> None:
    async with chromium() as program:
        page = await (await program.new_context(storage_state=os.environ["MATRIX_COOKIES"])).new_page()
        page.set_default_timeout(SECONDS)
        await page.goto(url)
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(lambda seen: "/oauth/authorize" not in seen)
        await page.wait_for_load_state()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
