import { CodeRequestDto, ConsentRequestDto, type ChallengeMethod } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { validateInstance } from '@libs/platform';
import type { FormFields } from '../../http/parse-form';

/** The app that asks. The person who agrees may not change what it says of itself. */
export interface ConsentApp {
  /** Null: the code is shown, for programs that a browser cannot be redirected to. */
  readonly callbackUrl: string | null;
  readonly challenge: string | undefined;
  readonly challengeMethod: ChallengeMethod | undefined;
}

/** What the person who agrees may choose, as text in a form; empty means left out. */
export interface ConsentChoices {
  readonly key_label: string;
  readonly limit: string;
  readonly usage_limit_type: string;
  /** A day in UTC, `YYYY-MM-DD`. */
  readonly expires_on: string;
  readonly workspace_id: string;
}

const PLAIN_NUMBER = /^\d{1,10}(?:\.\d{1,12})?$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** @throws AppError invalid_request that names the member */
export function readApp(fields: FormFields): ConsentApp {
  const given = (name: string): string | undefined => fields.get(name) || undefined;
  const asked = validateInstance(ConsentRequestDto, {
    callback_url: given('callback_url'),
    code_challenge: given('code_challenge'),
    code_challenge_method: given('code_challenge_method'),
  });
  if (asked.callback_url === undefined && asked.code_challenge === undefined) {
    throw bad('callback_url or code_challenge is required');
  }
  return {
    callbackUrl: asked.callback_url ?? null,
    challenge: asked.code_challenge,
    challengeMethod: asked.code_challenge_method,
  };
}

/** What the app proposes, or what was chosen in the form. */
export function readChoices(fields: FormFields): ConsentChoices {
  const text = (name: string): string => fields.get(name)?.trim() ?? '';
  return {
    key_label: text('key_label'),
    limit: text('limit'),
    usage_limit_type: text('usage_limit_type'),
    expires_on: text('expires_on') || text('expires_at').split('T', 1)[0]!,
    workspace_id: text('workspace_id'),
  };
}

/** The code that app and choices make together. @throws AppError invalid_request that names the member */
export function codeRequestOf({ challenge, challengeMethod }: ConsentApp, choices: ConsentChoices): CodeRequestDto {
  if (choices.limit !== '' && !PLAIN_NUMBER.test(choices.limit)) throw bad('limit must be an amount in US dollars');
  if (choices.expires_on !== '' && !DAY.test(choices.expires_on)) throw bad('expires_on must be a day, YYYY-MM-DD');
  return validateInstance(CodeRequestDto, {
    code_challenge: challenge,
    code_challenge_method: challengeMethod,
    limit: choices.limit === '' ? undefined : Number(choices.limit),
    usage_limit_type: choices.usage_limit_type || undefined,
    expires_at: choices.expires_on === '' ? undefined : `${choices.expires_on}T23:59:59Z`,
    workspace_id: choices.workspace_id || undefined,
    key_label: choices.key_label || undefined,
  });
}

/** The query of the page that asks the same. */
export function queryOf(app: ConsentApp, choices: ConsentChoices): string {
  const members = { ...fieldsOf(app), ...choices };
  return new URLSearchParams(Object.entries(members).filter(([, value]) => value !== '')).toString();
}

/** What the app asks, as the fields of a form. */
export function fieldsOf({ callbackUrl, challenge, challengeMethod }: ConsentApp): Record<string, string> {
  return {
    callback_url: callbackUrl ?? '',
    code_challenge: challenge ?? '',
    code_challenge_method: challengeMethod ?? '',
  };
}

/** What people call the app. */
export function nameOf({ callbackUrl }: ConsentApp): string {
  if (callbackUrl === null) return 'A command-line program';
  const { host, protocol } = new URL(callbackUrl);
  return protocol === 'http:' ? `A program on this computer (${host})` : host;
}

/** Returns the URL that the browser is redirected to, with the answer. */
export function callbackWith(callbackUrl: string, answer: Readonly<Record<string, string>>): string {
  const url = new URL(callbackUrl);
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
  return url.href;
}

function bad(what: string): AppError {
  return new AppError('invalid_request', what);
}
