import type { WorkspaceRecord } from '@libs/contracts';
import { fieldsOf, nameOf, type ConsentApp, type ConsentChoices } from './consent-request';
import { html, type Html } from './html';
import type { Page } from './page';

/** Path to which the forms of the pages are sent. */
export const CONSENT_PATH = '/auth';
export const SIGN_IN_PATH = '/auth/session';
export const SIGN_OUT_PATH = '/auth/session/end';

interface Asked {
  readonly app: ConsentApp;
  readonly choices: ConsentChoices;
  /** Proves that the form is one of ours. */
  readonly formToken: string;
  /** Error message about the entered values. */
  readonly problem?: string;
}

/** Asks for a management key. `again` leads here as a link of this site, with which a session's cookie comes along. */
export function signInPage({ app, choices, formToken, problem }: Asked, again: string): Page {
  return {
    status: problem === undefined ? 200 : 401,
    title: 'Sign in',
    content: html`<h1>Sign in to decide</h1>
      <p>${nameOf(app)} asks for an API key of your organization. Sign in with a management key to agree or refuse.</p>
      ${problemOf(problem)}
      <form method="post" action="${SIGN_IN_PATH}">
        ${hidden({ form_token: formToken, ...fieldsOf(app), ...choices })}
        <label for="management_key">Management key</label>
        <input
          id="management_key"
          name="management_key"
          type="password"
          autocomplete="current-password"
          spellcheck="false"
          required
          autofocus
        />
        <button class="main">Sign in</button>
      </form>
      <p class="hint">Signed in already? <a href="${again}">Go on</a></p>`,
  };
}

/** Returns the page that shows which app asks for what, and lets the person reduce it. */
export function consentPage(asked: Asked, workspaces: readonly WorkspaceRecord[]): Page {
  const { app, choices, formToken, problem } = asked;
  return {
    status: problem === undefined ? 200 : 400,
    title: 'Allow access',
    ...(app.callbackUrl !== null && { leadsTo: new URL(app.callbackUrl).origin }),
    content: html`<h1>${nameOf(app)} asks for an API key</h1>
      <p>
        With it the application runs models and spends credits of your organization, within what you allow here, until
        the key expires or you delete it.
      </p>
      <dl>
        <dt>The key goes to</dt>
        <dd>${app.callbackUrl ?? 'the program that you paste the code into'}</dd>
      </dl>
      ${problemOf(problem)}
      <form method="post" action="${CONSENT_PATH}">
        ${hidden({ form_token: formToken, ...fieldsOf(app) })} ${choiceFields(choices, workspaces)}
        <button class="main" name="decision" value="approve">Allow</button>
        <button name="decision" value="deny">Refuse</button>
      </form>
      <form method="post" action="${SIGN_OUT_PATH}">
        ${hidden({ form_token: formToken, ...fieldsOf(app), ...choices })}
        <button>Sign out</button>
      </form>`,
  };
}

/** Returns the page that shows the code, for programs to which a browser cannot redirect. */
export function codePage(code: string): Page {
  return {
    status: 200,
    title: 'Your code',
    content: html`<h1>Paste this code into the program</h1>
      <code>${code}</code>
      <p class="hint">It works once, within ten minutes.</p>`,
  };
}

export function refusedPage(): Page {
  return {
    status: 200,
    title: 'Refused',
    content: html`<h1>Nothing was given out</h1>
      <p>You refused. You can close this page.</p>`,
  };
}

export function problemPage(status: number, problem: string): Page {
  return {
    status,
    title: 'This did not work',
    content: html`<h1>This did not work</h1>
      <p class="problem" role="alert">${problem}</p>
      <p>Go back to the application and start again.</p>`,
  };
}

function problemOf(problem: string | undefined): Html | null {
  return problem === undefined ? null : html`<p class="problem" role="alert">${problem}</p>`;
}

function hidden(fields: Readonly<Record<string, string>>): readonly Html[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
}

function choiceFields(choices: ConsentChoices, workspaces: readonly WorkspaceRecord[]): readonly Html[] {
  const { workspace_id, key_label, limit, usage_limit_type, expires_on } = choices;
  const name = { name: 'key_label', label: 'Name of the key', value: key_label };
  const amount = { name: 'limit', label: 'Limit in US dollars', value: limit };
  const day = { name: 'expires_on', label: 'Last day of the key (UTC)', value: expires_on };
  return [
    workspaceField(workspaces, workspace_id),
    textField({ ...name, hint: 'Empty: the name of the application.' }, html`maxlength="100"`),
    textField({ ...amount, hint: 'Empty: no limit of its own.' }, html`inputmode="decimal"`),
    resetField(usage_limit_type),
    textField({ ...day, hint: 'Empty: until it is deleted.' }, html`type="date"`),
  ];
}

interface TextField {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly hint: string;
}

function textField({ name, label, value, hint }: TextField, attributes: Html): Html {
  return html`<label for="${name}">${label}</label>
    <p class="hint" id="${name}-hint">${hint}</p>
    <input
      id="${name}"
      name="${name}"
      value="${value}"
      ${attributes}
      aria-describedby="${name}-hint"
      autocomplete="off"
    />`;
}

function workspaceField(workspaces: readonly WorkspaceRecord[], chosen: string): Html {
  const isChosen = ({ id, isDefault }: WorkspaceRecord): boolean => (chosen === '' ? isDefault : id === chosen);
  const options = workspaces.map((workspace) => option(workspace.id, workspace.name, isChosen(workspace)));
  return html`<label for="workspace_id">Workspace</label>
    <select id="workspace_id" name="workspace_id">
      ${options}
    </select>`;
}

function resetField(chosen: string): Html {
  const resets = { '': 'never', daily: 'every day', weekly: 'every week', monthly: 'every month' };
  const options = Object.entries(resets).map(([value, label]) => option(value, label, value === chosen));
  return html`<label for="usage_limit_type">The limit starts anew</label>
    <select id="usage_limit_type" name="usage_limit_type">
      ${options}
    </select>`;
}

function option(value: string, label: string, isChosen: boolean): Html {
  return html`<option value="${value}" ${isChosen ? html`selected` : null}>${label}</option>`;
}
