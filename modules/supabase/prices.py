"""Prices of new projects and branches.

The Management API tells no price, so these are Supabase's list prices: US dollars for the smallest compute of a paid
plan (Micro), from https://supabase.com/docs/guides/platform/manage-your-usage/compute and …/branching, as published on
`AS_OF`. The organization's billing page is what counts.
"""

from typing import NamedTuple

from modules.kit import ConfirmationOutcome, Context, ToolError
from modules.kit.results import ResultModel, Word

AS_OF = "2026-11-24"
PROJECT_MONTHLY_USD = 10
BRANCH_HOURLY_USD = 0.01344
PRICING_PAGE = "https://supabase.com/pricing"


class Price(NamedTuple):
    """`text` is what the caller repeats to agree."""

    text: str
    reason: str


BRANCH_PRICE = Price(
    f"{BRANCH_HOURLY_USD} USD per hour",
    "compute (Micro) of a branch while it exists; disk, egress and storage come on top, and neither the spend cap nor "
    "compute credits cover it",
)


class PriceQuestion(ResultModel):
    """A price to agree to. Nothing was made yet."""

    price: Word = ""
    covers: Word = ""
    source: Word = ""
    next_step: Word = ""


def get_project_price(plan: str, running_projects: int) -> Price:
    """Return the price of one more project in an organization of this plan that has so many running ones."""
    if plan == "free":
        return Price("0 USD per month", "the free plan, within its number of projects; nothing is charged")
    if not running_projects and plan in ("pro", "team"):
        return Price("0 USD per month", "the plan's compute credits cover one project (Micro); usage comes on top")
    return Price(
        f"{PROJECT_MONTHLY_USD} USD per month", "compute (Micro) of a further project, by the hour; usage comes on top"
    )


async def ask_for_agreement(
    context: Context, thing: str, price: Price, given: str, organization: str
) -> PriceQuestion | None:
    """Ask whether `price` is agreed to: the user, by a form, where their client can show one; else by the question that
    is returned. None where they have agreed, by the form or because `given` is this very price.

    Raises:
        ToolError: the user declines, or this is a batch.
    """
    if given == price.text:
        return None
    source = f"list price of {AS_OF} ({PRICING_PAGE})"
    answer = await context.confirm(
        f"Create {thing} at Supabase for {price.text}? It covers {price.reason}; {source}.",
        label=f"Create it for {price.text}",
        instead=f"ask the user, then give confirm_cost {price.text!r}",
    )
    if answer is ConfirmationOutcome.CONFIRMED:
        return None
    if answer is ConfirmationOutcome.DECLINED:
        raise ToolError(f"nothing was created: the user does not agree to {price.text}; do not ask again by yourself")
    return PriceQuestion(
        price=price.text,
        covers=price.reason,
        source=f"{source}; authoritative is https://supabase.com/dashboard/org/{organization}/billing",
        next_step=f"nothing was created: ask the user, then call again with confirm_cost {price.text!r}",
    )
