import { nextId } from './ids';
import type { BodyReply, Playback } from './reply';

/** The error format of a path: Anthropic's under `/v1/messages`, OpenAI's everywhere else. */
export type Dialect = 'openai' | 'anthropic';

/** A refusal. `message` names the invalid field, never its value. */
export class SandboxError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly param: string | null = null,
    readonly code: string | null = null,
  ) {
    super(message);
    this.name = 'SandboxError';
  }
}

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  402: 'insufficient_quota',
  403: 'permission_error',
  429: 'rate_limit_error',
};

const OPENAI_CODES: Readonly<Record<number, string>> = {
  402: 'insufficient_quota',
  429: 'rate_limit_exceeded',
  503: 'service_unavailable',
};

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** The error object of a dialect, without its HTTP frame. */
export function errorValue(dialect: Dialect, error: SandboxError): { readonly error: object } {
  const isServerFault = error.status >= 500;
  if (dialect === 'anthropic') {
    const type = ANTHROPIC_TYPES[error.status] ?? (isServerFault ? 'api_error' : 'invalid_request_error');
    const value = { type: 'error', error: { type, message: error.message }, request_id: nextId('req_') };
    return value;
  }
  const type = OPENAI_TYPES[error.status] ?? (isServerFault ? 'server_error' : 'invalid_request_error');
  const code = error.code ?? OPENAI_CODES[error.status] ?? null;
  return { error: { message: error.message, type, param: error.param, code } };
}

export function errorReply(
  dialect: Dialect,
  error: SandboxError,
  headers: readonly string[] = [],
  playback?: Playback,
): BodyReply {
  const body = JSON.stringify(errorValue(dialect, error));
  return { kind: 'body', status: error.status, contentType: 'application/json', body, headers, playback };
}
