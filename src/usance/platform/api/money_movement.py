"""Routes of money on its way: orders, unallocated cash and breaks."""

from __future__ import annotations

from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval
from usance.platform.api.groups import Group
from usance.platform.api.pages import DEFAULT_PAGE, cut, read_id_cursor
from usance.platform.api.parameters import PAGED, one_of
from usance.platform.api.shapes import Object, Page
from usance.platform.reads.loans import pool_sales
from usance.platform.reads.reading import Reading
from usance.service.orders.payment_order import OrderState

group = Group("Money", "operations", "finance")
BREAK_STATES = ("open", "explained", "cleared", "resolved")


async def orders(read: Reading, call: Call) -> Any:
    """Payment orders, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.orders(call.query.get("state"), read_id_cursor(call.query, "or"), limit + 1)
    return cut(rows, limit, "order")


async def order(read: Reading, call: Call) -> Any:
    """One payment order with its events."""
    return await read.order(call.path["order"])


async def unallocated(read: Reading, call: Call) -> Any:
    """Money received that no loan has taken, in the order of its ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    is_open = call.query.get("state", "open") == "open"
    rows = await read.unallocated(read_id_cursor(call.query, "un"), limit + 1, is_open=is_open)
    return cut(rows, limit, "unallocated")


async def one_unallocated(read: Reading, call: Call) -> Any:
    """One such amount, with the loans it may be for."""
    return await read.one_unallocated(call.path["unallocated"])


async def breaks(read: Reading, call: Call) -> Any:
    """Breaks, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.breaks(call.query.get("state"), read_id_cursor(call.query, "br"), limit + 1)
    return cut(rows, limit, "break")


async def sales(read: Reading, call: Call) -> Any:
    """Sales of charged-off loans, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await pool_sales.pool_sales(
        read.transaction, read.moment.lender, read_id_cursor(call.query, "sa"), limit + 1
    )
    return cut(rows, limit, "sale")


async def sale(read: Reading, call: Call) -> Any:
    """One sale with the tape of its loans."""
    return await pool_sales.pool_sale(read.transaction, read.moment.lender, call.path["sale"])


_STATES = one_of(*(each.value for each in OrderState))
group.read("/orders", Page[Object], orders, query={"state": _STATES, **PAGED})
group.read("/orders/{order}", Object, order)
group.command("/orders/{order}/cancel", "order.cancel", {200: Object})
group.read("/unallocated", Page[Object], unallocated,
           query={"state": one_of("open", "all"), **PAGED})  # fmt: skip
group.read("/unallocated/{unallocated}", Object, one_unallocated)
group.command("/unallocated/{unallocated}/assign", "cash.assign", {200: Object, 202: Approval})
group.command("/unallocated/{unallocated}/return", "cash.return", {200: Object, 202: Approval})
group.command("/unallocated/{unallocated}/pass-on", "cash.pass_on", {200: Object, 202: Approval})
group.read("/pool-sales", Page[Object], sales, query=PAGED)
group.read("/pool-sales/{sale}", Object, sale)
group.command("/pool-sales", "pool.sell", {201: Object, 202: Approval})
group.read("/breaks", Page[Object], breaks, query={"state": one_of(*BREAK_STATES), **PAGED})
group.command("/breaks/{break_id}/assign", "break.assign", {200: Object})
group.command("/breaks/{break_id}/book-fee", "break.book_fee", {200: Object, 202: Approval})
group.command("/breaks/{break_id}/clear", "break.clear", {200: Object, 202: Object})
