// SPDX-License-Identifier: Apache-2.0
// Beside a conversation: prompts by the clock, shortcuts, and which tools there are.

import { confirmDialog } from "../lib/dialog.js";
import { h, newId, replace, setText } from "../lib/dom.js";
import { ago, dateTime, shorten } from "../lib/format.js";
import { address } from "../lib/router.js";

const SHOWN_JOBS = 50;

function field(label, props) {
  const id = newId("field");
  const input = h("input", { id, class: "input", autocomplete: "off", ...props });
  return { input, element: h("div", { class: "field" }, h("label", { class: "label", for: id }, label), input) };
}

/** A part of the side with its own list; load() reads it anew. */
class Panel {
  constructor(title, app, load) {
    this.app = app;
    this.loadData = load;
    this.body = h("div", { class: "stack" });
    this.problem = h("p", { class: "field-problem", role: "alert" });
    this.element = h("section", { class: "panel" }, h("h2", { class: "panel-title" }, title), this.body, this.problem);
  }

  async load() {
    try {
      this.draw(await this.loadData());
    } catch (error) {
      if (error.name !== "AbortError") setText(this.problem, error.message);
    }
  }

  /** Does something and shows what came of it. */
  async act(work, said) {
    setText(this.problem, "");
    try {
      await work();
      if (said) this.app.announce(said);
      await this.load();
      return true;
    } catch (error) {
      setText(this.problem, error.message);
      return false;
    }
  }
}

/** Prompts of one session, or of all. */
export class JobsPanel extends Panel {
  constructor(app, sessionId = null) {
    super("Scheduled prompts", app, () => app.weir.sessions.jobs({ signal: app.signal }));
    this.sessionId = sessionId;
    this.list = h("ul", { class: "plain-list" });
    this.body.append(this.list, this.form());
  }

  form() {
    const schedule = field("When", { placeholder: "0 7 * * mon-fri", required: true, spellcheck: "false" });
    const text = field("What to say", { placeholder: "How did I sleep?", required: true });
    const hint = h(
      "p",
      { class: "hint" },
      `Minute, hour, day of the month, month, day of the week, or @daily and the like; in ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`,
    );
    const submit = async (event) => {
      event.preventDefault();
      const job = {
        schedule: schedule.input.value.trim(),
        text: text.input.value.trim(),
        timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        ...(this.sessionId ? { sessionId: this.sessionId } : {}),
      };
      const isMade = await this.act(() => this.app.weir.sessions.schedule(job), "The prompt is scheduled");
      if (!isMade) return;
      schedule.input.value = "";
      text.input.value = "";
    };
    return h(
      "details",
      { class: "panel-form" },
      h("summary", null, "Schedule a prompt"),
      h(
        "form",
        { class: "stack", on: { submit } },
        schedule.element,
        text.element,
        hint,
        h("button", { type: "submit", class: "button" }, "Schedule"),
      ),
    );
  }

  draw({ jobs }) {
    const own = this.sessionId ? jobs.filter((job) => job.sessionId === this.sessionId) : jobs;
    const more = own.length - SHOWN_JOBS;
    replace(
      this.list,
      own.length === 0 && h("li", { class: "hint" }, "None yet."),
      own.slice(0, SHOWN_JOBS).map((job) => this.row(job)),
      more > 0 && h("li", { class: "hint" }, `and ${more} more`),
    );
  }

  row(job) {
    const name = job.name ?? shorten(job.text, 80);
    return h(
      "li",
      { class: "panel-row" },
      h(
        "div",
        { class: "panel-row-text" },
        this.sessionId ? h("span", null, name) : h("a", { href: address(["sessions", job.sessionId]) }, name),
        h("span", { class: "hint" }, h("code", null, job.schedule), ` ${job.timezone}`),
        h(
          "span",
          { class: "hint" },
          job.nextRunAt ? `next ${dateTime(job.nextRunAt)}` : "never again",
          job.lastRunAt ? `, last ${ago(job.lastRunAt)}` : "",
        ),
      ),
      h(
        "button",
        {
          class: "button button-small",
          "aria-label": `Delete the scheduled prompt ${name}`,
          on: { click: () => this.remove(job, name) },
        },
        "Delete",
      ),
    );
  }

  async remove(job, name) {
    if (!(await confirmDialog({ title: "Delete this scheduled prompt?", text: name, confirm: "Delete" }))) return;
    await this.act(() => this.app.weir.sessions.unschedule(job.id), "The scheduled prompt is deleted");
  }
}

export class SkillsPanel extends Panel {
  constructor(app) {
    super("Shortcuts", app, () => app.weir.sessions.skills({ signal: app.signal }));
    this.list = h("ul", { class: "plain-list" });
    this.body.append(this.list);
  }

  draw({ skills }) {
    replace(
      this.list,
      skills.length === 0 &&
        h("li", { class: "hint" }, "When the same kind of question was asked three times, a shortcut for it is proposed here."),
      skills.map((skill) => (skill.state === "pending" ? this.proposal(skill) : this.row(skill))),
    );
  }

  row(skill) {
    return h(
      "li",
      { class: "panel-row" },
      h("div", { class: "panel-row-text" }, h("code", null, `/${skill.name}`), h("span", { class: "hint" }, shorten(skill.text, 120))),
      h(
        "button",
        {
          class: "button button-small",
          "aria-label": `Remove the shortcut ${skill.name}`,
          on: { click: () => this.act(() => this.app.weir.sessions.rejectSkill(skill.id), "The shortcut is removed") },
        },
        "Remove",
      ),
    );
  }

  proposal(skill) {
    const name = field("Name", { value: skill.name, pattern: "[a-z0-9\\-]{1,40}", maxlength: 40, spellcheck: "false" });
    const accept = (event) => {
      event.preventDefault();
      this.act(() => this.app.weir.sessions.acceptSkill(skill.id, name.input.value.trim() || undefined), "The shortcut is accepted");
    };
    return h(
      "li",
      { class: "panel-proposal" },
      h("p", null, h("span", { class: "badge badge-accent" }, "proposed"), " ", shorten(skill.text, 160)),
      h(
        "form",
        { class: "stack", on: { submit: accept } },
        name.element,
        h(
          "div",
          { class: "row" },
          h("button", { type: "submit", class: "button button-small button-primary" }, "Accept"),
          h(
            "button",
            {
              class: "button button-small",
              on: { click: () => this.act(() => this.app.weir.sessions.rejectSkill(skill.id), "The proposal is rejected") },
            },
            "Reject",
          ),
        ),
      ),
    );
  }
}

/** Which tools there are; read when somebody looks. */
export function toolsPanel(app) {
  const body = h("div", { class: "stack" });
  let hasLoaded = false;
  async function load(event) {
    if (!event.target.open || hasLoaded) return;
    hasLoaded = true;
    try {
      const { groups } = await app.weir.sessions.tools({ signal: app.signal });
      replace(
        body,
        groups.map(({ group, tools }) => [
          h("h3", { class: "tool-group" }, group),
          h(
            "dl",
            { class: "tool-list" },
            tools.map(({ name, description }) => [h("dt", null, h("code", null, name)), h("dd", { class: "hint" }, description)]),
          ),
        ]),
      );
    } catch (error) {
      hasLoaded = false;
      replace(body, h("p", { class: "field-problem" }, error.message));
    }
  }
  return h(
    "section",
    { class: "panel" },
    h("details", { class: "panel-form", on: { toggle: load } }, h("summary", null, "What it can do"), body),
  );
}
