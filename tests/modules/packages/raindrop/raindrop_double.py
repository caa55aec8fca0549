"""A Raindrop.io of its own: the bookmarks of one account, written from https://developer.raindrop.io."""

import json
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.support.vendor_contract import Contract
from tests.support.vendor_double import VendorCall, VendorDouble, VendorRefusal

API = Path(__file__).with_name("raindrop_api.json")


class RaindropDouble(VendorDouble):
    """`bookmarks` are newest first; `token` is the only one it knows."""

    def __init__(self, token: str) -> None:
        routes = {
            ("get", "/user"): self.get_user,
            ("get", "/raindrops/{collectionId}"): self.search,
            ("get", "/raindrop/{id}"): self.get_bookmark,
            ("post", "/raindrop"): self.save,
        }
        super().__init__(Contract(json.loads(API.read_bytes())), routes, prefix="/rest/v1")
        self.token = token
        self.bookmarks: list[dict[str, Any]] = []

    def authenticate(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            raise self.build_refusal(401, "Unauthorized")

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return VendorRefusal(status, {"result": False, "status": status, "errorMessage": reason})

    def add(self, link: str, title: str = "", **more: Any) -> dict[str, Any]:
        """Save a bookmark as its owner does in the app."""
        fixed = {"_id": len(self.bookmarks) + 1, "tags": [], "note": "", "created": "2026-01-31T12:00:00.000Z"}
        self.bookmarks.insert(0, {**fixed, "link": link, "title": title, **more})
        return self.bookmarks[0]

    def get_user(self, call: VendorCall) -> Any:
        return {"result": True, "user": {"_id": 32, "fullName": "Ada"}}

    def search(self, call: VendorCall) -> Any:
        size, page = int(call.query.get("perpage", 25)), int(call.query.get("page", 0))
        word = call.query.get("search", "").lower()
        found = [one for one in self.bookmarks if word in one["title"].lower()]
        return {"result": True, "items": found[page * size : (page + 1) * size], "count": len(found)}

    def get_bookmark(self, call: VendorCall) -> Any:
        for one in self.bookmarks:
            if str(one["_id"]) == call.values["id"]:
                return {"result": True, "item": one}
        raise self.build_refusal(404, "Not found")

    def save(self, call: VendorCall) -> Any:
        if "refused" in call.body["link"]:
            return {"result": False, "errorMessage": "Incorrect link"}
        return {"result": True, "item": self.add(**call.body)}
