// Where one signs in with a token.

import { h, redraw } from "../view.js";
import { Problem } from "../api.js";
import { sentence } from "../dialog.js";

/** @type {string | null} */
let wrong = null;
let busy = false;

/** @param {(token: string) => Promise<void>} begin */
export const signIn = (begin) =>
  h("main", { class: "signin" },
    h("form", { onsubmit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      const input = /** @type {HTMLInputElement} */ (document.getElementById("token"));
      const given = input.value.trim();
      // What no header can carry is no token.
      if (!/^[\x21-\x7e]+$/.test(given)) {
        wrong = "A token has letters, digits and signs, and no spaces.";
        return redraw();
      }
      busy = true;
      wrong = null;
      redraw();
      try {
        await begin(given);
      } catch (error) {
        wrong = error instanceof Problem ? sentence(error.message) : String(error);
        input.select();
      }
      busy = false;
      redraw();
    } },
    h("img", { src: "dashboard/icon.svg", alt: "", width: 40, height: 40 }),
    h("h1", null, "Turnabout"),
    h("label", { for: "token" }, "Token"),
    h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", "aria-describedby": "about-token",
      "aria-invalid": wrong ? "true" : undefined, made: (/** @type {HTMLElement} */ input) => input.focus() }),
    h("p", { class: wrong ? "wrong" : "hint", id: "about-token", role: wrong ? "alert" : undefined },
      wrong ?? "It is kept until you close this tab, and sent to this server only."),
    h("button", { type: "submit", class: "button primary", disabled: busy }, "Sign in"),
    h("p", { class: "hint" }, "`turnabout token` makes one, and says where to write its hash.")));
