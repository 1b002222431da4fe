import { validateHeaderName, validateHeaderValue } from 'node:http';
import { toEnvelope, type AppError } from '@libs/errors';

/** An AppError as an HTTP response: its body and its headers. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const UNAUTHORIZED = 401;

/** `envelope` returns the body; by default the standard error body. */
export function errorResponse(error: AppError, envelope: object = toEnvelope(error)): ErrorResponse {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(error.headers ?? {})) {
    if (isSendable(name, value)) headers[name.toLowerCase()] = value;
  }
  if (error.retryAfterSeconds !== undefined) headers['retry-after'] = String(wholeSeconds(error.retryAfterSeconds));
  // Claude Code would retry for minutes with an invalid key, in case of a login in the meantime.
  if (error.status === UNAUTHORIZED) headers['x-should-retry'] = 'false';
  headers['content-type'] = 'application/json; charset=utf-8';
  return { status: error.status, headers, body: serialise(error, envelope) };
}

/** Returns whether a header can be sent. Others are left out, so that the error itself reaches the caller. */
function isSendable(name: string, value: unknown): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value as string);
    return true;
  } catch {
    return false;
  }
}

function wholeSeconds(seconds: number): number {
  return Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : 1;
}

/** Metadata that cannot be written as JSON is left out, and the rest of the body is still sent. */
function serialise(error: AppError, envelope: object): string {
  try {
    return JSON.stringify(envelope);
  } catch {
    const { code, message } = toEnvelope(error).error;
    return JSON.stringify({ error: { code, message } });
  }
}
