import { CodeRequestDto, ConsentRequestDto, type ChallengeMethod } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { validateInstance } from '@libs/platform';
import type { FormFields } from '../../http/parse-form';

/** The app that asks for a key. The person who agrees cannot change these fields. */
export interface ConsentApp {
  /** Null: the code is shown, for programs to which a browser cannot redirect. */
  readonly callbackUrl: string | null;
  readonly challenge: string | undefined;
  readonly challengeMethod: ChallengeMethod | undefined;
}

/** The choices of the person who agrees, as form text; empty means left out. */
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

/** Reads the choices that the app proposes or that were made in the form. */
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

/**
 * Returns the request for a code from the app's and the person's input.
 * @throws AppError invalid_request with the name of the field
 */
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

/** Returns the query string of the page with the same request. */
export function queryOf(app: ConsentApp, choices: ConsentChoices): string {
  const members = { ...fieldsOf(app), ...choices };
  return new URLSearchParams(Object.entries(members).filter(([, value]) => value !== '')).toString();
}

/** Returns the app's request as fields of a form. */
export function fieldsOf({ callbackUrl, challenge, challengeMethod }: ConsentApp): Record<string, string> {
  return {
    callback_url: callbackUrl ?? '',
    code_challenge: challenge ?? '',
    code_challenge_method: challengeMethod ?? '',
  };
}

/** Returns a name for the app that people recognize. */
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
