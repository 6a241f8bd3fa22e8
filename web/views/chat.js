// SPDX-License-Identifier: Apache-2.0
// Chats: conversations beside the one that is had, and the shield's questions about what is private.

import { h } from "../lib/dom.js";
import { ChatPage } from "../talk/chat_page.js";

export const view = {
  title: "Chat",
  async render(root, { id = null }, app) {
    // Where the conversations are all there is room for, none of them is what the page is about.
    root.append(h("h1", { class: "chat-heading visually-hidden" }, "Chat"));
    const page = new ChatPage(root, id, app);
    app.signal.addEventListener("abort", () => page.end(), { once: true });
    await page.start();
  },
};
