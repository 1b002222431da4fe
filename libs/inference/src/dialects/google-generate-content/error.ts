import type { IncomingHttpHeaders } from 'node:http';
import { MalformedJson, parseJson, isObject, objectOf, objectsOf, stringOf } from '@libs/json';
import type { AppError } from '@libs/errors';
import type { Provider } from '../../catalogue/catalogue';
import { errorInside, readComplaint, upstreamError } from '../../wire/upstream-error';

/** Error reasons of a 400 that are caused by our key or project (google.api.ErrorReason). */
const ACCOUNT_REASON = /^(?:API_KEY_|CONSUMER_|SERVICE_DISABLED$|BILLING_DISABLED$)/;

/** Matches the refusal of a file that the request names and that the API still prepares. */
const UNPREPARED_FILE = /^the file \S{1,200} is not in an active state/i;

/** The API answers 403 both for files of other accounts and for removed files; it removes files after 48 hours. */
const NO_SUCH_FILE = /or it may not exist/i;

/**
 * Returns the error of one of Google's APIs (google.rpc.Status). The API answers 400 for an invalid key and for a
 * project that it does not serve in its region. These are the operator's problem, so they become a 401: the caller
 * sees no details, and another endpoint may be tried.
 */
export function googleError(provider: Provider, status: number, headers: IncomingHttpHeaders, body: Buffer): AppError {
  return upstreamError(provider, status === 400 && isAccountTrouble(parsed(body)) ? 401 : status, headers, body);
}

/** Returns the error that is inside a 200 or inside a chunk of a stream. */
export function googleErrorInside(provider: Provider, response: object): AppError {
  const complaint = readComplaint(Buffer.from(JSON.stringify(response)));
  return errorInside(provider, isAccountTrouble(response) ? { ...complaint, status: 401 } : complaint);
}

/** Returns whether a refusal of the Gemini API means that a file does not exist. */
export function isGoneFile(status: number, body: Buffer): boolean {
  return status === 403 && NO_SUCH_FILE.test(readComplaint(body).message ?? '');
}

/**
 * Returns whether an error is caused by our account. The error may be an object or, from a stream that never began, a
 * list.
 */
function isAccountTrouble(response: unknown): boolean {
  const [first] = Array.isArray(response) ? objectsOf(response) : [objectOf(response)];
  const { status, details, message } = objectOf(first?.['error']);
  if (status === 'FAILED_PRECONDITION') return !UNPREPARED_FILE.test(stringOf(message) ?? '');
  return objectsOf(details).some(({ reason }) => ACCOUNT_REASON.test(stringOf(reason) ?? ''));
}

function parsed(body: Buffer): unknown {
  try {
    const value = parseJson(body);
    return isObject(value) || Array.isArray(value) ? value : null;
  } catch (thrown) {
    // A proxy in front of the upstream may answer in HTML, which holds no error details.
    if (thrown instanceof MalformedJson) return null;
    throw thrown;
  }
}
