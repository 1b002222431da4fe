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

/** The readable parts of an upstream's error. */
export interface UpstreamComplaint {
  readonly message: string | null;
  readonly code: string | null;
  /** An HTTP status that the body names. */
  readonly status: number | null;
  /** The `error_type` of a provider that has this gateway's API. */
  readonly errorType?: string | null;
}

const NO_COMPLAINT: UpstreamComplaint = { message: null, code: null, status: null };

/** Problems that the operator must settle with the provider; the caller only learns that it is unavailable. */
const OUR_ACCOUNT = /insufficient_quota|billing|account_deactivated|credit/i;
const PROVIDER_CODE = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/**
 * Statuses that blame the request. Upstreams use any of them for a prompt that is too long, and some use 404 for a
 * picture.
 */
const REFINED: ReadonlySet<number> = new Set([400, 404, 413, 422]);

/** Statuses by words, for errors inside a 200 that have no status. */
const STATUS_BY_WORD: readonly (readonly [RegExp, number])[] = [
  [/rate_limit|too_many_requests|resource_exhausted|insufficient_quota/i, 429],
  [/^(?:invalid_api_key|authentication_error|unauthenticated|unauthorized)$/i, 401],
  [/^permission_(?:error|denied)$/i, 403],
  [/overloaded/i, 529],
  [/timeout/i, 504],
  [/invalid_request|context_length|content_policy|content_filter/i, 400],
];

const OWN_WORDS: Partial<Record<ErrorCode, string>> = {
  provider_unavailable: 'The provider is not available',
  provider_overloaded: 'The provider is overloaded',
  rate_limit_exceeded: 'The provider limits the rate of requests',
  timeout: 'The provider did not answer in time',
  server: 'The provider failed with an internal error',
  unmapped: 'The provider refused the request for a reason that is not known here',
};

/**
 * Messages for refusals that another key or model would avoid: the caller can choose another one, and the operator must
 * act.
 */
const REFUSAL_WORDS: Partial<Record<Refusal, string>> = {
  refused_key: 'The provider refused the key that it was called with',
  unknown_model: 'The provider does not know the model',
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  408: 'timeout',
  412: 'precondition_failed',
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
 * Statuses from 400 to 499 for a key, an account, an address or model that the operator has to correct, or a model that
 * failed (Bedrock's 424).
 */
const UNAVAILABLE: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 410, 424]);

/**
 * Returns the upstream's refusal as our error.
 *
 * For 400, 413 and 422 the request is at fault, and the caller gets the upstream's own message, scrubbed and cut. The
 * same applies to a 404 for a picture and a 403 for a prompt. Everything else is between the provider and the operator
 * (key, quota, outage, unknown model). The caller then gets our message, which distinguishes a refused key and an
 * unknown model from an outage, and routing may try another endpoint. No other text of a 401 or 403 is shown.
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

/** Returns the error that arrives inside a 200: in the body, or as an event of a stream. */
export function errorInside(provider: Provider, complaint: UpstreamComplaint): AppError {
  const { code } = complaint;
  // Some gateways write the status as a string.
  const status = complaint.status ?? (/^\d{3}$/.test(code ?? '') ? Number(code) : null);
  const isStatus = status !== null && status >= 400 && status < 600;
  const meant = isStatus ? status : statusOfWords(complaint);
  return complaintError(provider, meant, complaint, retryAfterSecondsIn(complaint.message ?? ''));
}

function statusOfWords(complaint: UpstreamComplaint): number {
  const { code } = complaint;
  // Some providers give a refused key or an unknown model the code of an invalid request; only its details say so.
  const ofAccount = meantStatus(400, complaint);
  if (ofAccount !== 400) return ofAccount;
  const worded = STATUS_BY_WORD.find(([pattern]) => pattern.test(code ?? ''))?.[1];
  return worded ?? (codeOfWord(code) === null ? 502 : 400);
}

/** Returns the error for a refusal that was already read, for protocols that have it outside the body. */
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

/** Returns our message, or that of the upstream if the request is at fault. */
function wordsOf(code: ErrorCode, { message }: UpstreamComplaint): string {
  return OWN_WORDS[code] ?? (scrub(message ?? '') || 'The provider refused the request');
}

/** Stored outside the errors: callers must not see all statuses, such as that of a refused key. */
const statuses = new WeakMap<AppError, number>();

/** Returns the status with which the upstream refused; null for an error that is not an answer of an upstream. */
export function upstreamStatusOf(error: AppError): number | null {
  return statuses.get(error) ?? null;
}

/** Returns `error`, which replaces `replaced`, with the upstream's status of that. */
export function withStatusOf(replaced: AppError, error: AppError): AppError {
  const status = upstreamStatusOf(replaced);
  if (status !== null) statuses.set(error, status);
  return error;
}

/** Returns the status with which the upstream refused the key itself; null for every other error. */
export function keyRefusalOf(error: AppError): 401 | 403 | null {
  const status = upstreamStatusOf(error);
  return status === 401 || status === 403 ? status : null;
}

/**
 * Returns the error for a call above the limit of running and waiting calls at the provider in this process. The limit
 * is our own; the provider does not know it.
 */
export function tooManyCalls(provider: Provider): AppError {
  const error = new AppError('provider_overloaded', 'The provider is overloaded', {
    metadata: { provider_name: provider.name },
    internal: `too many calls to ${provider.slug} wait in this process`,
  });
  heldBack.add(error);
  return error;
}

/**
 * Returns the error for a call that timed out inside this process: no connection was free, other answers were read
 * first, or the caller read its stream too slowly.
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

/** Returns whether a call failed only because this process handled other calls first. */
export function isHeldBack(error: AppError): boolean {
  return heldBack.has(error);
}

function errorCode(status: number, complaint: UpstreamComplaint): ErrorCode {
  const byStatus = BY_STATUS[status] ?? codeOfOther(status, complaint);
  const isAboutUs = complaint.code !== null && OUR_ACCOUNT.test(complaint.code);
  if (isAboutUs && (status === 400 || status === 429)) return 'provider_unavailable';
  const meant = REFINED.has(status) ? meantRefusal(complaint) : null;
  return meant !== null && (status !== 404 || meant.startsWith('image_')) ? meant : byStatus;
}

/** Returns the code for a status without one of its own. Only another gateway says that the failure is inside it. */
function codeOfOther(status: number, { errorType }: UpstreamComplaint): ErrorCode {
  if (status === 500 && errorType === 'server') return 'server';
  return status >= 400 && status < 500 && !UNAVAILABLE.has(status) ? 'unmapped' : 'provider_unavailable';
}

/** Returns the error for an invalid answer: not JSON, cut off, too long, an empty stream. `reason` is for our logs. */
export function brokenAnswer(provider: Provider, reason: string, cause?: unknown): AppError {
  return upstreamFault(provider, 'provider_unavailable', 'The provider sent an answer that cannot be read', {
    internal: `upstream ${provider.slug}: ${reason}`,
    cause,
  });
}

/**
 * Returns the error of a 200 that is not the requested answer: the error that the upstream reports in it, or `reason`.
 */
export function notAnswered(provider: Provider, body: Buffer, reason: string): AppError {
  const complaint = readComplaint(body);
  return complaint.message === null ? brokenAnswer(provider, reason) : errorInside(provider, complaint);
}

/** Reads `{"error": {message, code, type}}`, `{"error": "…"}`, `{"message": "…"}` and lists of them. */
export function readComplaint(body: Buffer): UpstreamComplaint {
  try {
    return readComplaintAt(new JsonCursor(body), 0);
  } catch (thrown) {
    // A proxy in front of the upstream may answer in HTML, which is not shown.
    if (thrown instanceof MalformedJson) return NO_COMPLAINT;
    throw thrown;
  }
}

const NESTING = 2;

/** Reads the error at the cursor and moves past it. */
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

/** The error type is next to the message or inside `metadata`. */
function readErrorType(cursor: JsonCursor, key: string, depth: number): string | null {
  if (key === 'error_type') return cursor.readStringOrNull();
  return key === 'metadata' ? (readComplaintAt(cursor, depth + 1).errorType ?? null) : null;
}

function definite(complaint: UpstreamComplaint): Partial<UpstreamComplaint> {
  return Object.fromEntries(Object.entries(complaint).filter(([, value]) => value !== null));
}
