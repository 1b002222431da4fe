import type { IncomingHttpHeaders } from 'node:http';
import { JsonCursor, MalformedJson } from '@libs/json';
import { AppError, type ErrorCode } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';
import { meantStatus } from './account-trouble';
import { readRetryAfterSeconds, retryAfterSecondsIn } from './retry-after';
import { codeOfWord, meantRefusal } from './refused-request';
import { scrub } from './scrub';
import { noteRefusal, refusalOf, type Refusal } from './upstream-refusal';
import { upstreamFault } from './upstream-fault';

/** What an upstream says about its failure, as far as it can be read. */
export interface UpstreamComplaint {
  readonly message: string | null;
  readonly code: string | null;
  /** An HTTP status that the body names. */
  readonly status: number | null;
  /** The `error_type` of a provider that has this interface itself. */
  readonly errorType?: string | null;
}

const NO_COMPLAINT: UpstreamComplaint = { message: null, code: null, status: null };

/** Conditions that are ours to settle with the provider; the caller only learns that it is unavailable. */
const OUR_ACCOUNT = /insufficient_quota|billing|account_deactivated|credit/i;
const PROVIDER_CODE = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** Statuses that blame the request; upstreams use any of them for a prompt that is too long, some 404 for an image. */
const REFINED: ReadonlySet<number> = new Set([400, 404, 413, 422]);

/** For errors inside a 200 that name no status. */
const STATUS_BY_WORD: readonly (readonly [RegExp, number])[] = [
  [/rate_limit|too_many_requests|resource_exhausted/i, 429],
  [/overloaded/i, 529],
  [/timeout/i, 504],
  [/invalid_request|context_length|content_policy|content_filter/i, 400],
];

const OWN_WORDS: Partial<Record<ErrorCode, string>> = {
  provider_unavailable: 'The provider is not available',
  provider_overloaded: 'The provider is overloaded',
  rate_limit_exceeded: 'The provider limits the rate of requests',
  timeout: 'The provider did not answer in time',
};

/** Of refusals that another key or another model would not get: the caller may choose, and the operator has to act. */
const REFUSAL_WORDS: Partial<Record<Refusal, string>> = {
  refused_key: 'The provider refused the key that it was called with',
  unknown_model: 'The provider does not know the model',
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  408: 'timeout',
  413: 'payload_too_large',
  422: 'unprocessable',
  429: 'rate_limit_exceeded',
  503: 'provider_overloaded',
  504: 'timeout',
  522: 'timeout',
  524: 'timeout',
  529: 'provider_overloaded',
};

/**
 * The upstream's refusal as our error.
 *
 * 400, 413 and 422 blame the caller, who gets the upstream's own words, scrubbed and cut. So do a 404 for an image and a
 * 403 for a prompt. Everything else is between the provider and us (our key, our quota, their outage, a model they do not
 * know): the caller gets our words, which distinguish a refused key and an unknown model from an outage, and routing may
 * try elsewhere. Nothing else that comes with a 401 or 403 is shown.
 */
export function upstreamError(
  provider: Provider,
  status: number,
  headers: IncomingHttpHeaders,
  body: Buffer,
): AppError {
  const complaint = readComplaint(body);
  const retryAfterSeconds = readRetryAfterSeconds(headers, body);
  return complaintError(provider, status, complaint, retryAfterSeconds);
}

/** The same for an error that arrives inside a 200: in the body, or as an event of a stream. */
export function errorInside(provider: Provider, complaint: UpstreamComplaint): AppError {
  const { code } = complaint;
  // Some gateways write the status as a text.
  const status = complaint.status ?? (/^\d{3}$/.test(code ?? '') ? Number(code) : null);
  const isStatus = status !== null && status >= 400 && status < 600;
  const meant = isStatus ? status : statusOfWord(code);
  return complaintError(provider, meant, complaint, retryAfterSecondsIn(complaint.message ?? ''));
}

function statusOfWord(code: string | null): number {
  const worded = STATUS_BY_WORD.find(([pattern]) => pattern.test(code ?? ''))?.[1];
  return worded ?? (codeOfWord(code) === null ? 502 : 400);
}

/** The same for what has been read of a refusal, where the wire has it elsewhere than in the body. */
export function complaintError(
  provider: Provider,
  told: number,
  complaint: UpstreamComplaint,
  retryAfterSeconds?: number,
): AppError {
  const status = meantStatus(told, complaint);
  const code = errorCode(status, complaint);
  const isSecretive = status === 401 || status === 403;
  const said = complaint.code ?? '';
  const hint = PROVIDER_CODE.test(said) && scrub(said) === said ? said : String(status);
  const refusal = refusalOf(status, code, complaint);
  const error = upstreamFault(provider, code, REFUSAL_WORDS[refusal] ?? wordsOf(code, complaint), {
    metadata: isSecretive ? {} : { provider_code: hint },
    retryAfterSeconds,
    internal: `upstream ${provider.slug} answered ${status} ${isSecretive ? '' : hint}`.trimEnd(),
  });
  statuses.set(error, status);
  return noteRefusal(error, refusal);
}

/** Ours, or those of an upstream that blames the caller. */
function wordsOf(code: ErrorCode, { message }: UpstreamComplaint): string {
  return OWN_WORDS[code] ?? (scrub(message ?? '') || 'The provider refused the request');
}

/** Kept outside the errors: callers must not see all of them, such as a refusal of the key. */
const statuses = new WeakMap<AppError, number>();

/** The status with which the upstream refused; null for an error that is no answer of an upstream. */
export function upstreamStatusOf(error: AppError): number | null {
  return statuses.get(error) ?? null;
}

/** The status with which the upstream refused the key itself; null for every other error. */
export function keyRefusalOf(error: AppError): 401 | 403 | null {
  const status = upstreamStatusOf(error);
  return status === 401 || status === 403 ? status : null;
}

/** A call beyond those that may run and wait at the provider in this process. Our own limit, which it knows nothing of. */
export function tooManyCalls(provider: Provider): AppError {
  const error = new AppError('provider_overloaded', 'The provider is overloaded', {
    metadata: { provider_name: provider.name },
    internal: `too many calls to ${provider.slug} wait in this process`,
  });
  heldBack.add(error);
  return error;
}

/**
 * A call whose time ran out in this process: no connection was free for it, other answers were read before its own, or
 * its caller read its stream too slowly.
 */
export function heldBackTooLong(provider: Provider): AppError {
  const error = new AppError('timeout', 'The provider did not answer in time', {
    metadata: { provider_name: provider.name },
    internal: `a call to ${provider.slug} waited in this process until its time was up`,
  });
  heldBack.add(error);
  return error;
}

const heldBack = new WeakSet<AppError>();

/** Whether a call failed only because others were before it in this process. */
export function isHeldBack(error: AppError): boolean {
  return heldBack.has(error);
}

function errorCode(status: number, complaint: UpstreamComplaint): ErrorCode {
  const byStatus = BY_STATUS[status] ?? 'provider_unavailable';
  const isAboutUs = complaint.code !== null && OUR_ACCOUNT.test(complaint.code);
  if (isAboutUs && (status === 400 || status === 429)) return 'provider_unavailable';
  const meant = REFINED.has(status) ? meantRefusal(complaint) : null;
  return meant !== null && (status !== 404 || meant.startsWith('image_')) ? meant : byStatus;
}

/** Returns the error for an invalid answer: not JSON, cut off, too long, an empty stream. `reason` is for our logs. */
export function brokenAnswer(provider: Provider, reason: string, cause?: unknown): AppError {
  return upstreamFault(provider, 'provider_unavailable', 'The provider sent an answer that cannot be read', {
    internal: `upstream ${provider.slug}: ${reason}`,
    cause,
  });
}

/** The error of a 200 that is not what was asked for: what the upstream says in it, or `reason`. */
export function notAnswered(provider: Provider, body: Buffer, reason: string): AppError {
  const complaint = readComplaint(body);
  return complaint.message === null ? brokenAnswer(provider, reason) : errorInside(provider, complaint);
}

/** Reads `{"error": {message, code, type}}`, `{"error": "…"}`, `{"message": "…"}` and lists of them. */
export function readComplaint(body: Buffer): UpstreamComplaint {
  try {
    return readComplaintAt(new JsonCursor(body), 0);
  } catch (thrown) {
    // A proxy in front of the upstream may answer in HTML; its words are nothing to show.
    if (thrown instanceof MalformedJson) return NO_COMPLAINT;
    throw thrown;
  }
}

const NESTING = 2;

/** The complaint at the cursor, which ends up behind it. */
export function readComplaintAt(cursor: JsonCursor, depth: number): UpstreamComplaint {
  if (cursor.isString()) return { ...NO_COMPLAINT, message: cursor.readString() };
  if (depth > NESTING || (!cursor.isObject() && !cursor.isArray())) {
    cursor.skipValue();
    return NO_COMPLAINT;
  }
  const found: { -readonly [name in keyof UpstreamComplaint]: UpstreamComplaint[name] } = { ...NO_COMPLAINT };
  let type: string | null = null;
  const readCode = (): void => {
    if (cursor.isString()) found.code = cursor.readString();
    else found.status = cursor.readNumberOrNull();
  };
  const readMember = (key: string): void => {
    if (key === 'message' || key === 'detail') found.message = cursor.readStringOrNull() ?? found.message;
    else if (key === 'code') readCode();
    else if (key === 'type' || key === 'status') type = cursor.readStringOrNull();
    else if (key === 'error') Object.assign(found, definite(readComplaintAt(cursor, depth + 1)));
    else found.errorType = readErrorType(cursor, key, depth) ?? found.errorType;
  };
  if (cursor.isObject()) cursor.readObject(readMember);
  else cursor.readArray(() => readMember('error'));
  found.code ??= type;
  return found;
}

/** It is next to the message or in `metadata`. */
function readErrorType(cursor: JsonCursor, key: string, depth: number): string | null {
  if (key === 'error_type') return cursor.readStringOrNull();
  return key === 'metadata' ? (readComplaintAt(cursor, depth + 1).errorType ?? null) : null;
}

function definite(complaint: UpstreamComplaint): Partial<UpstreamComplaint> {
  return Object.fromEntries(Object.entries(complaint).filter(([, value]) => value !== null));
}
